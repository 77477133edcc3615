"""Plan files: load them, read the workspace, and compare the two."""

from __future__ import annotations

import os
from collections.abc import Sequence, Set
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from mlctl import source
from mlctl.backends.ports.backend import Backend
from mlctl.config.graph import Graph
from mlctl.config.loader import LoadedConfig
from mlctl.dataclasses import dataclass, replace
from mlctl.diagnostics import Diagnostic, Report
from mlctl.files import ON_DISK, Files
from mlctl.kinds import KINDS, Address, kind_of
from mlctl.planning.blue_green.successors import NONE, Successors
from mlctl.planning.live_state import LiveState
from mlctl.planning.model import Unfinished
from mlctl.planning.ownership.owner import NOBODY, Ownership, Prune, undeclared
from mlctl.planning.planner import plan
from mlctl.planning.preflight.regions import NAME_TAKEN
from mlctl.planning.refresh import owned, refresh
from mlctl.planning.running_jobs import with_running_jobs
from mlctl.render.plan import unfinished as unfinished_text
from mlctl.render.terminal.terminal import clean
from mlctl.service_errors import ServiceError
from mlctl.workflow.model import (
    InvalidFiles,
    InvalidOption,
    PlanContext,
    Planned,
    PlanOptions,
    Strategy,
    UnreadableFolder,
    refresh_settled,
)

if TYPE_CHECKING:
    from mlctl.project.policies import Policies


def plan_files(
    paths: Sequence[str],
    backend: Backend,
    context: PlanContext,
    report: Report,
    options: PlanOptions = PlanOptions(),
) -> Planned:
    """Plan files; findings about them go to the report.

    Raises:
        InvalidFiles: the files have errors.
        InvalidOption: they cannot be planned with these options.
        CannotRename: a resource cannot be replaced under a new name.
        ServiceError: the backend cannot be read.
    """
    planning = _Planning(paths, backend, context, options, options.ownership(context.project))
    if options.strategy is Strategy.IN_PLACE:
        return planning.plan_once(report, options.successors)
    from mlctl.workflow.renaming import with_new_names  # noqa: PLC0415  # few plans need it

    return with_new_names(paths, backend, context, report, planning.plan_once)


@dataclass(frozen=True, eq=False, slots=True)
class _Planning:
    """Plans files with these options, again each time their texts change."""

    paths: Sequence[str]
    backend: Backend
    context: PlanContext
    options: PlanOptions
    ownership: Ownership

    def plan_once(
        self, report: Report, successors: Successors = NONE, files: Files = ON_DISK
    ) -> Planned:
        """Plan the files as they are or, with `successors`, as they will be."""
        options = self.options
        left_out, loaded = self._load(report, files, again=bool(successors))
        if not (loaded.resources or options.resuming):
            self.context.note("note: these files declare no resources")
        successors = successors or self._moved(loaded.graph)
        prune = self._pruning(loaded, files)
        targets = [_find_declared(loaded.graph, target) for target in options.targets]
        journals = None if options.destroying or options.comparing else self.context.journals
        unfinished = tuple(journals.changes().values()) if journals else ()
        live_state = self._refresh(loaded.graph, successors, unfinished)
        live_state = replace(live_state, prices=self.context.price_list())
        if options.resuming:
            entries = live_state.unfinished.values()
            targets = [address for entry in entries for address in entry.missing(live_state.live)]
        planned = plan_loaded(
            loaded.graph if targets or not options.resuming else Graph({}, ()),
            live_state,
            self.backend,
            report,
            None if options.comparing else self.context.policies(),
            destroying=options.destroying,
            targets=targets,
            ownership=self.ownership,
            prune=prune,
            successors=successors,
            overwriting=options.strategy is Strategy.IN_PLACE,
        )
        orphans = () if left_out else tuple(self._orphans(loaded, planned, files))
        planned = replace(planned, plan=replace(planned.plan, orphans=orphans), left_out=left_out)
        for note in (
            unfinished_text.notes(unfinished, live_state, planned.plan) if not successors else ()
        ):
            self.context.note(note)
        return planned

    def _moved(self, graph: Graph) -> Successors:
        """Return the renames in `mlctl.yml`, and report those that are impossible."""
        options, moved = self.options, dict[Address, Address]()
        if options.targets or options.destroying or options.resuming or options.comparing:
            return NONE
        for old, new in self.context.project.moved.items():
            kind = kind_of(old)
            if not graph.declared(new) or graph.declared(old):
                continue
            if kind.plan.may_be_renamed and not kind.versioned:
                moved[old] = new
                continue
            from mlctl.planning.blue_green.renaming import why_named  # noqa: PLC0415  # rare

            self.context.note(
                clean(
                    f"note: {old} cannot become {new}: {why_named(old)}. {new} is another one;"
                    f" {old} is left as it is, until --prune or a delete command deletes it"
                )
            )
        return moved

    def _orphans(self, loaded: LoadedConfig, planned: Planned, files: Files) -> list[Address]:
        """Return what the project owns and no file declares; nothing if that is not requested."""
        options = self.options
        project = self.context.project.text("project")
        part_of_it = options.targets or options.destroying or options.resuming
        if project is None or part_of_it or options.prune or planned.plan.errors:
            return []
        if not options.looking_for_orphans:
            return []
        try:
            every = self.backend.list_all(KINDS)
            orphans = owned(undeclared(loaded.graph, every, frozenset()), project)
            if orphans:  # only then are the project's other files read
                elsewhere = self._declared_elsewhere(loaded, files)
                orphans = (*undeclared(loaded.graph, orphans, elsewhere),)
        except (ServiceError, UnreadableFolder) as error:
            self.context.note(
                clean(f"note: resources that no file declares any more were not searched: {error}")
            )
            return []
        deleted = {change.address for change in planned.plan.changes if change.action.deletes}
        return sorted({live.address for live in orphans} - deleted)

    def _load(
        self, report: Report, files: Files, *, again: bool
    ) -> tuple[frozenset[str], LoadedConfig]:
        """Load the files, and return those left out because of errors if the plan keeps going."""
        without: frozenset[str] = frozenset()
        while True:
            loader = self.context.new_loader(
                report,
                scope=self.backend.scope,
                planning=not self.options.destroying,
                destroying=self.options.destroying,
                files=files,
                without=without,
            )
            loaded = loader.load(self.paths)
            if report.failed or not (again or without):
                self.context.show(replace(loaded, notes=()) if without else loaded)
            if not report.failed:
                return without, loaded
            failing = loaded.with_users(report.files_with_errors())
            nothing_left = failing <= without or failing | without >= {*loaded.files}
            if not self.options.keep_going or nothing_left:
                raise InvalidFiles(report)
            without |= failing
            report.clear()

    def _refresh(
        self, graph: Graph, successors: Successors, unfinished: Sequence[Unfinished]
    ) -> LiveState:
        options, note = self.options, self.context.note
        of = self.ownership.project if options.prune else None
        read = partial(refresh, of=of, superseded=successors.keys(), unfinished=unfinished)
        if options.settle_s is None:
            return read(graph, self.backend, destroying=options.destroying)
        timeout = options.settle_s
        return refresh_settled(graph, self.backend, timeout=timeout, note=note, read=read)

    def _pruning(self, loaded: LoadedConfig, files: Files) -> Prune | None:
        """Return what may be pruned; None if nothing is."""
        if not self.options.prune:
            return None
        elsewhere = partial(self._declared_elsewhere, loaded, files)
        return Prune(elsewhere, self.options.prune_limit)

    def _declared_elsewhere(self, loaded: LoadedConfig, files: Files) -> Set[Address]:
        """Return what the project's other files declare; UnreadableFolder if one is unreadable."""
        document = self.context.project.document
        report = Report(select=frozenset({"MLC0"}))
        absolute = cache(lambda folder: Path(folder).absolute())

        def place(file: str) -> tuple[Path, str]:
            folder, name = os.path.split(file)
            return absolute(folder), name

        planned = {place(file) for file in loaded.files}
        discovered = source.discover([str(document.folder if document else Path())], report)
        other_files = [file for file in discovered if place(file.path) not in planned]
        loader = self.context.new_loader(
            report, scope=self.backend.scope, scripts=False, files=files
        )
        elsewhere = loader.load_files(other_files)
        if report.failed:
            raise UnreadableFolder(
                report, "a file in this folder cannot be read, but may declare what would be pruned"
            )
        return elsewhere.graph.resources.keys()


def plan_loaded(
    graph: Graph,
    live_state: LiveState,
    backend: Backend,
    report: Report,
    policies: Policies | None = None,
    *,
    destroying: bool = False,
    targets: Sequence[Address] = (),
    ownership: Ownership = NOBODY,
    prune: Prune | None = None,
    successors: Successors = NONE,
    overwriting: bool = True,
) -> Planned:
    """Plan what was loaded, with unfinished jobs and findings of policies.

    The backend is asked for jobs only if something that runs them is deleted or replaced. Warnings
    that the report ignores are left out.
    """
    new_plan = plan(
        graph,
        live_state,
        backend=backend.name,
        destroying=destroying,
        targets=list(targets),
        ownership=ownership,
        prune=prune,
        successors=successors,
        overwriting=overwriting,
    )
    new_plan = with_running_jobs(new_plan, live_state.used_by, backend)
    if policies is not None:
        new_plan = policies.over(new_plan, graph, report)
    warnings = Report(report.ignore, report.select)
    warnings.extend(new_plan.warnings)
    rejections = [finding for finding in new_plan.rejections if not _is_waived(finding, report)]
    new_plan = replace(new_plan, warnings=tuple(warnings), rejections=tuple(rejections))
    return Planned(new_plan, graph, report.strict, ownership.project)


def _is_waived(finding: Diagnostic, report: Report) -> bool:
    """Whether a finding is an ignored error about names, which only Azure can check."""
    heard = Report(report.ignore, report.select)
    heard.add(finding)
    return finding.rule is NAME_TAKEN and not len(heard)


def _find_declared(graph: Graph, target: str) -> Address:
    try:
        address = Address.parse(target)
    except ValueError as error:
        raise InvalidOption("target", str(error)) from None
    if not graph.declared(address):
        declared = ", ".join(map(str, sorted(graph.resources)[:5]))
        message = f"`{target}` is not declared in these files; they declare {declared}"
        raise InvalidOption("target", message)
    return address
