"""A run of a command: its workspace, its output streams, and its backend when needed."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from mlctl import files, masking
from mlctl.cli.shell import streams
from mlctl.cli.shell.global_args import GlobalArgs
from mlctl.cli.shell.scope import OPTIONS, PARTS, Configuration, price_cache, project_file_of
from mlctl.dataclasses import dataclass, field
from mlctl.diagnostics import Diagnostic, Report
from mlctl.kinds import Scope
from mlctl.pointer import Data
from mlctl.render.terminal.terminal import clean, clean_lines
from mlctl.source.files import PROJECT_FILE

AS_AZ = "MLCTL_AS_AZ"  # set by the executable of `mlctl az-shim`

if TYPE_CHECKING:
    from mlctl.backends.ports.backend import Backend, ConnectionOptions, Registry, WritesRegistries
    from mlctl.catalog.prices import PriceList
    from mlctl.config.loader import Loader
    from mlctl.kinds import Kind
    from mlctl.planning.model import Plan
    from mlctl.planning.unfinished.journal import Journals
    from mlctl.project.policies import Policies


@dataclass
class Session:
    """What a command works with; `paths` are the files and folders that it is about."""

    flags: GlobalArgs
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    paths: Sequence[str] = ()
    _has_opened: bool = False  # a backend
    _has_named_workspace: bool = False  # on stderr

    @cached_property
    def settings(self) -> Configuration:
        """Return the configuration files and variables."""
        stage = self.flags.env or self.environment.get("MLCTL_ENV")
        return Configuration.read(project_file_of(self.paths), self.environment, stage)

    def loader(self, report: Report, kind: Kind | None = None, **settings: Any) -> Loader:
        """A loader of documents with these settings, for today and the session's variables."""
        from mlctl.cli.parser.arguments import InvalidValue
        from mlctl.project.load import VariableError, loader, variables

        project = self.settings.project
        try:
            values = variables(
                project,
                self._given_variables(),
                self.flags.var_file or (),
                self.environment,
                secrets=masking.hidden,
            )
        except VariableError as error:
            raise InvalidValue(str(error), flag="--var") from None
        return loader(project, report, self.today, values, lambda: self.policies, kind, **settings)

    def _given_variables(self) -> dict[str, Data]:
        """Return the variables of `--var`."""
        from mlctl import source
        from mlctl.cli.parser.arguments import InvalidValue

        values = {}
        for text in self.flags.var or ():
            name, equals, value = text.partition("=")
            if not name or not equals:
                raise InvalidValue(f"`{text}` is not NAME=VALUE", flag="--var")
            values[name] = source.plain(value) if value else ""
        return values

    @cached_property
    def policies(self) -> Policies:
        """Return the project's own rules."""
        from mlctl.project.load import policies_of

        return policies_of(self.settings.project, self.today)

    @cached_property
    def as_az(self) -> bool:
        """Whether the executable `az` of `mlctl az-shim` was called."""
        return bool(self.environment.get(AS_AZ))

    @property
    def has_notes(self) -> bool:
        """Whether to show notes, plans and progress; for callers of `az` only on terminals.

        Scripts read both of its streams as one, and az prints nothing of the kind.
        """
        return not self.quiet and (sys.stderr.isatty() or not self.as_az)

    @cached_property
    def quiet(self) -> bool:
        """Whether to show only errors: by the flag, or by az's `core.only_show_errors`."""
        return self.flags.only_show_errors or self.settings.truth("only_show_errors")

    @cached_property
    def backend_name(self) -> str:
        """Return `local`, `azure`, or what another package provides."""
        from mlctl.backends import check_name

        name = self.settings.backend(self.flags.backend)
        check_name(name)
        return name

    @cached_property
    def scope(self) -> Scope:
        """Return the workspace that the command works in."""
        return self.settings.scope(self.backend_name, self.flags.scope)

    @property
    def options(self) -> ConnectionOptions:
        """Return how to reach a backend: from flags, environment or `mlctl.yml`."""
        from mlctl.backends.ports.backend import ConnectionOptions

        configured = {name: self.settings.configured(part) for name, part in OPTIONS.items()}
        return self.flags.options.over(ConnectionOptions(configured["auth"], configured["cloud"]))

    @property
    def price_list(self) -> PriceList:
        """What nodes cost: by a list of the user's, else by the one that mlctl brings along."""
        from mlctl.catalog import prices

        return self.own_price_list or prices.own_prices()

    @cached_property
    def own_price_list(self) -> PriceList | None:
        """Return the price list of --price-file, of the project, or of `mlctl catalog refresh`.

        The last one lies over that of mlctl. None where there is none of them.
        """
        flag = self.flags.price_file
        own_list = None if flag else self.settings.project.price_list()
        path = files.expanded(Path(flag)) if flag else price_cache(self.environment)
        if own_list is not None or not (flag or files.is_file(path)):
            return own_list
        from mlctl.catalog import prices
        from mlctl.cli.parser.arguments import InvalidValue

        try:
            return prices.read(path) if flag else prices.read_refreshed(path)
        except (OSError, prices.PriceListError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            cure = "" if flag else "; write it again with `mlctl catalog refresh`, or remove it"
            message = f"`{path}` cannot be used as a price list: {why}{cure}"
            raise InvalidValue(message, flag="--price-file" if flag else "prices") from None

    @property
    def today(self) -> date:
        """Return the date that retirements are measured against."""
        return datetime.now(UTC).date()

    @contextmanager
    def registry(self, name: str) -> Iterator[Registry]:
        """Open a registry; name it once on stderr. No workspace is needed."""
        from mlctl.backends.ports.backend import SupportsRegistries
        from mlctl.service_errors import Permanent

        backend, _ = self.open(needed=())
        try:
            if not isinstance(backend, SupportsRegistries):
                raise Permanent("NoRegistries", f"the {backend.name} backend has no registries")
            self.note(clean(f"{backend.name} backend, registry {name}"))
            yield backend.registry(name)
        finally:
            backend.close()

    @contextmanager
    def writing_registry(self, name: str) -> Iterator[Backend]:
        """Open the backend of a registry to write to; name it once on stderr."""
        with self.registries(needed=()) as backend:
            self.note(clean(f"{self.backend_name} backend, registry {name}"))
            writing = backend.writing_registry(name)
            self.scope = writing.scope
            yield writing

    @contextmanager
    def registries(self, needed: Collection[str] = PARTS) -> Iterator[WritesRegistries]:
        """Open a backend that can create registries and write to them.

        `needed` are the parts of the workspace's name without which it cannot do so.
        """
        from mlctl.backends.ports.backend import WritesRegistries
        from mlctl.service_errors import Permanent

        backend, _ = self.open(needed)
        try:
            if not isinstance(backend, WritesRegistries):
                text = f"the {backend.name} backend cannot write to registries"
                raise Permanent("NoRegistries", text)
            yield backend
        finally:
            backend.close()

    @contextmanager
    def backend(self, registry: str | None = None) -> Iterator[Backend]:
        """Open the backend; name its workspace once on stderr.

        With `registry`, the one that writes to that registry.
        """
        if registry is not None:
            with self.writing_registry(registry) as writing:
                yield writing
            return
        from mlctl.backends.ports.backend import SupportsNotes

        scope = self.scope
        name = self.backend_name
        backend, location = self.open()
        workspace = f"{scope.resource_group}/{scope.workspace}"
        by = self._project_elsewhere
        if not self._has_named_workspace:
            self.note(clean(f"{name} backend{location}, workspace {workspace}{by}"))
            self._has_named_workspace = True
        if isinstance(backend, SupportsNotes):
            for text in backend.notes:
                self.note(clean(text))
        try:
            yield backend
        finally:
            backend.close()

    @property
    def _project_elsewhere(self) -> str:
        """Return the `mlctl.yml` in use, if it is not the one in this folder."""
        document = self.settings.project.document
        name = document.source.name if document else PROJECT_FILE
        return f" (by {name})" if name != PROJECT_FILE else ""

    def open(self, needed: Collection[str] = PARTS) -> tuple[Backend, str]:
        """Open the backend, which the caller closes, and return where it keeps its state.

        `needed` are the parts of the workspace's name that it cannot do without.
        """
        from mlctl.backends import open_backend

        self._has_opened = True
        return open_backend(
            self.backend_name,
            self.settings.scope(self.backend_name, self.flags.scope, needed=needed),
            self.environment,
            self.options,
            lambda: self.price_list,
        )

    def check_state(self) -> None:
        """Check that the state of the used backend can be read, if it has one."""
        if not self._has_opened:
            return
        from mlctl.backends.ports.backend import SupportsStateCheck

        backend, _ = self.open()
        try:
            if isinstance(backend, SupportsStateCheck):
                backend.check_state()
        finally:
            backend.close()

    @cached_property
    def journals(self) -> Journals:
        """Return the journals of the project's applies in this workspace, beside `mlctl.yml`."""
        from mlctl.planning.unfinished.journal import FOLDER, Journals

        document, folder = self.settings.project.document, self.environment.get("MLCTL_JOURNAL_DIR")
        project_folder = document.folder if document is not None else Path()
        return Journals(
            Path(folder) if folder else project_folder / FOLDER, self.backend_name, self.scope
        )

    def note(self, text: str) -> None:
        """Print a note on stderr, if notes are shown."""
        if self.has_notes:
            self.say(text)

    def say(self, text: str) -> None:
        """Print a line on stderr."""
        streams.say(text, color=self.color(sys.stderr))

    def out(self, text: str) -> None:
        """Print text for people on stdout."""
        self.out_data(clean_lines(text, color=self.color(sys.stdout)))

    def out_data(self, text: str) -> None:
        """Print data for programs on stdout, unchanged: its format has made it inert.

        It precedes later output of stderr, if both end in one log.
        """
        if text:
            sys.stdout.write(text if text.endswith("\n") else text + "\n")
            sys.stdout.flush()

    def out_pieces(self, pieces: Iterable[str]) -> None:
        """Print data as `out_data` does, as it is produced."""
        sys.stdout.writelines(pieces)
        sys.stdout.flush()

    def confirmed(self, question: str) -> bool:
        """Whether the user answers az's question with yes; an error without a terminal."""
        if not sys.stdin.isatty():
            self.say("ERROR: Unable to prompt for confirmation as no tty available. Use --yes.")
            return False
        streams.ask(f"{question} (y/n): ")
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    def color(self, stream: TextIO) -> bool:
        """Whether to colour `stream`: a terminal, unless turned off (https://no-color.org)."""
        return (
            stream.isatty()
            and not self.environment.get("NO_COLOR")
            and self.environment.get("AZURE_CORE_NO_COLOR", "").lower()
            not in ("1", "yes", "true", "on")
            and self.environment.get("TERM") != "dumb"
        )

    @property
    def width(self) -> int:
        """Return the columns of the terminal; 100 without one."""
        import shutil

        return shutil.get_terminal_size((100, 24)).columns

    def show(self, report: Report) -> None:
        """Print the findings on stderr."""
        from mlctl.render.findings import diagnostics

        text = diagnostics.report(report, color=self.color(sys.stderr), width=self.width)
        if text:
            self.say(text)

    def show_plan(self, plan: Plan, *, quiet: bool = False) -> None:
        """Print a plan on stderr, for commands whose stdout is data."""
        from mlctl.render.plan import blocks as render

        if not quiet:
            self.say(render.human(plan, color=self.color(sys.stderr), width=self.width))

    def show_findings(
        self, findings: Iterable[Diagnostic], ignore: frozenset[str] = frozenset()
    ) -> None:
        """Print the findings of a plan's preflight checks, except ignored rules."""
        report = Report(ignore)
        report.extend(findings)
        self.show(report)
