"""`mlctl.yml`: the settings of all files in its folder, and which one applies to a path."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mlctl import source
from mlctl.dataclasses import dataclass, field, replace
from mlctl.diagnostics import Label, Report
from mlctl.files import ON_DISK, Files
from mlctl.kinds import Address
from mlctl.pointer import Data
from mlctl.schema.text import nearest
from mlctl.source import Document
from mlctl.source.files import PROJECT_FILE, STDIN, expanded, projects_below

if TYPE_CHECKING:
    from mlctl.catalog.prices import PriceList
    from mlctl.config.overlays import Overlays
    from mlctl.planning.ownership.owner import Ownership


ENVIRONMENTS = "environments"
ALL = "all"  # of `--env`: every environment, so none can have this name
_LONGEST_LIST = 1 << 24  # bytes of a price list


class ProjectError(Exception):
    """`mlctl.yml`, or a file that it names, cannot be used; `report` has the findings.

    `file` is the one that cannot be used, unless a finding says where it is.
    """

    def __init__(self, report: Report, file: str = PROJECT_FILE) -> None:
        super().__init__(next(iter(report)).message)
        self.report = report
        self.file = file


class UnknownEnvironment(Exception):
    """The project has no environment of this name."""


@dataclass(frozen=True, slots=True)
class Project:
    """The file's content by key, and the file itself if there is one.

    In one of its `environments`, `chosen` is that environment's content, and `values` are the
    file's with it laid over them.
    """

    values: Mapping[str, Data] = field(default_factory=dict)
    document: Document | None = None
    chosen: Mapping[str, Data] = field(default_factory=dict)
    environment: str | None = None

    @property
    def environments(self) -> list[str]:
        """The names of the environments in the file."""
        return list(self.values.get(ENVIRONMENTS, {}))

    def within(self, environment: str) -> Project:
        """Return the project in one of its environments.

        Raises:
            UnknownEnvironment: it does not exist; the message lists those that do.
        """
        if environment not in self.environments:
            near = nearest(environment, self.environments)
            names = ", ".join(self.environments)
            none = "no `environments:` in mlctl.yml" if self.document else "there is no mlctl.yml"
            has = f"mlctl.yml describes {names}" if names else none
            suggestion = f"; did you mean `{near}`?" if near else f"; {has}"
            raise UnknownEnvironment(f"there is no environment `{environment}`{suggestion}")
        chosen = self.values[ENVIRONMENTS][environment] or {}
        values = _overlay_values(self.values, chosen)
        return replace(self, values=values, chosen=chosen, environment=environment)

    def text(self, key: str) -> str | None:
        """Return a value that is text; None if the file does not set it."""
        value = self.values.get(key)
        return str(value) if value else None

    @property
    def ignore(self) -> frozenset[str]:
        """The codes and names of rules that no command checks."""
        return frozenset(self.values.get("ignore", ()))

    def ownership(self, *, tagged: bool = True) -> Ownership:
        """Return the project's ownership and protections; without tags unless it is `tagged`."""
        from mlctl.planning.ownership.owner import Ownership, Protected

        protected = (
            Protected(pattern, self._label("protect", number))
            for number, pattern in enumerate(self.values.get("protect", ()))
        )
        tagged = tagged and self.values.get("tags") is not False
        return Ownership(self.text("project"), tagged, tuple(protected))

    def _label(self, key: str, number: int) -> Label | None:
        """Return the place of an item of a list, which an environment may have extended."""
        if self.document is None:
            return None
        count = len(self.document.data.get(key, ()))
        if number < count:
            return self.document.label((key, number))
        return self.document.label((ENVIRONMENTS, str(self.environment), key, number - count))

    @property
    def moved(self) -> dict[Address, Address]:
        """The old and the new address of renamed resources."""
        entries = self.values.get("moved", ())
        return {Address.parse(entry["from"]): Address.parse(entry["to"]) for entry in entries}

    @property
    def policies(self) -> list[Path]:
        """The files of the project's own rules."""
        folder = self.document.folder if self.document else Path()
        return [folder / name for name in self.values.get("policies", ())]

    def price_list(self) -> PriceList | None:
        """Read the project's own price list; None if it names none.

        Raises:
            OSError: the file cannot be read.
            PriceListError: it is not a price list.
        """
        name = self.text("prices")
        if name is None:
            return None
        from mlctl.catalog import prices  # few projects have one

        (path,) = self._below([name])
        return prices.parse(ON_DISK.read(path, _LONGEST_LIST).decode())

    @property
    def plugins(self) -> list[tuple[str, Label | None]]:
        """The names of plug-ins whose rules and policies apply, and their first places."""
        names = self.values.get("plugins", ())
        return [(name, self._label("plugins", names.index(name))) for name in dict.fromkeys(names)]

    @property
    def variables(self) -> Mapping[str, Data]:
        """The variables and their values; None for one without a value."""
        return self.values.get("variables") or {}

    def overlays(self, files: Files = ON_DISK) -> Overlays | None:
        """Return what the environment changes in resources; None if nothing."""
        if not self._overlay_files:
            return None
        from mlctl.config.overlays import Overlays

        documents = _read_overlays(self._below(self.values.get("overlays", ())), files)
        return Overlays(documents, frozenset(file.resolve() for file in self._overlay_files))

    @property
    def overlay_folders(self) -> list[str]:
        """Return the folders of the overlays of all environments."""
        return [str(folder) for folder in {file.parent for file in self._overlay_files}]

    def every_overlay(self) -> tuple[Document, ...]:
        """Return the overlays of all environments."""
        return _read_overlays(self._overlay_files)

    @property
    def _overlay_files(self) -> list[Path]:
        names = [*self.values.get("overlays", ())]
        for environment in self.values.get(ENVIRONMENTS, {}).values():
            names += (environment or {}).get("overlays", ())
        return self._below(dict.fromkeys(names))

    def _below(self, names: Iterable[str]) -> list[Path]:
        folder = self.document.folder if self.document else Path()
        return [folder / name for name in names]


def _read_overlays(paths: Iterable[Path], files: Files = ON_DISK) -> tuple[Document, ...]:
    from mlctl.config.overlays import check_overlay

    report, documents = Report(strict=True), list[Document]()
    for path in paths:
        documents += source.read(path, report, files)
    for document in documents:
        report.extend(check_overlay(document))
    if report.failed:
        raise ProjectError(report)
    return tuple(documents)


def _overlay_values(base: Mapping[str, Data], top: Mapping[str, Data]) -> dict[str, Data]:
    """Lay `top` over `base`: mappings are merged, lists are extended, the rest is replaced."""
    merged = dict(base)
    for key, value in top.items():
        below = merged.get(key)
        if isinstance(below, dict) and isinstance(value, dict):
            merged[key] = _overlay_values(below, value)
        elif isinstance(below, list) and isinstance(value, list):
            merged[key] = [*below, *value]
        else:
            merged[key] = value
    return merged


# os.path answers False where pathlib raises (loops of links, folders that cannot be entered):
# ruff: noqa: PTH100, PTH109, PTH112, PTH116, PTH117, PTH118, PTH120


class SeveralProjects(Exception):
    """The files of one command belong to several projects."""


def project_file(paths: Iterable[str | Path]) -> Path | None:
    """Find the `mlctl.yml` of files and folders: the nearest_file at or above each, or in a folder.

    The search goes up to the root of the git checkout; outside of one, it stops below folders that
    everybody can write to, whose file may be anybody's.

    Raises:
        SeveralProjects: the paths have several; the message names two.
    """
    projects: dict[str, str] = {}
    for path in paths:
        for project in _find_projects(str(path)):
            projects.setdefault(os.path.realpath(project), project)
    if len(projects) > 1:
        first, second, *_ = (os.path.normpath(project) for project in projects.values())
        raise SeveralProjects(
            f"`{first}` and `{second}` are two projects, but a command needs one:"
            " name the folder of one of them"
        )
    return next((Path(os.path.normpath(project)) for project in projects.values()), None)


def nearest_file(folder: str) -> str | None:
    """Find the nearest_file `mlctl.yml` at or above a folder; relative if the folder is."""
    try:
        start = os.path.abspath(folder)
        now = os.getcwd()
    except OSError:  # the current folder no longer exists
        return None
    files = (os.path.join(place, PROJECT_FILE) for place in _walk_up(start, now))
    file = next((file for file in files if os.path.lexists(file)), None)
    return file if file is None or os.path.isabs(folder) else os.path.relpath(file, now)


def _find_projects(path: str) -> Iterator[str]:
    for entry in () if path == STDIN else expanded(path):
        is_folder = os.path.isdir(entry)
        above = nearest_file(entry if is_folder else os.path.dirname(entry) or os.curdir)
        if above is not None:
            yield above
        if is_folder:
            yield from projects_below(entry)


def _walk_up(start: str, now: str) -> Iterator[str]:
    """Yield a folder and those above it that may have its `mlctl.yml`, as seen from here."""
    every = [start]
    while (above := os.path.dirname(every[-1])) != every[-1]:
        every.append(above)
    for end, ancestor in enumerate(every, 1):
        if os.path.lexists(os.path.join(ancestor, ".git")):
            return iter(every[:end])
    for end, ancestor in enumerate(every):
        if end and ancestor != now and _is_open(ancestor):
            return iter(every[:end])
    return iter(every)


def _is_open(folder: str) -> bool:
    """Whether everybody can write to a folder."""
    try:
        return bool(os.stat(folder).st_mode & stat.S_IWOTH)
    except OSError:
        return False
