"""`mlctl drift`: what differs from the files in the workspace; `mlctl pull` writes it to them."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from mlctl import files
from mlctl.backends.ports.backend import Backend
from mlctl.backends.ports.monitor import Activity, SupportsActivity
from mlctl.cli.change.planning import KeepGoing, PlanFormat, Target, load_and_plan, report_omissions
from mlctl.cli.files.validate import Paths
from mlctl.cli.shell import Exit, Session, flag
from mlctl.cli.shell.rule_choice import Ignore, new_report
from mlctl.inert import as_json
from mlctl.kinds import Address
from mlctl.planning.drift import find_drift, write_live_values
from mlctl.render.plan import drift as render
from mlctl.render.plan.patch import patch_of
from mlctl.render.terminal.terminal import clean
from mlctl.service_errors import ServiceError
from mlctl.source.edit import Rewrite
from mlctl.workflow.model import PlanOptions


def drift(
    session: Session,
    paths: Paths,
    output: PlanFormat = flag("-o", default="human"),
    detailed_exitcode: bool = flag(default=False),
    target: Target = None,
    keep_going: KeepGoing = False,
    ignore: Ignore = None,
) -> Exit:
    """Show how the workspace differs from the files, field by field, and who wrote last."""
    report = new_report(session, ignore)
    with session.backend() as backend:
        options = PlanOptions(targets=target or (), comparing=True, keep_going=keep_going)
        planned = load_and_plan(session, backend, paths, report, options)
        if planned is None:
            return Exit.ERROR
        drifts = list(find_drift(planned.plan))
        writes = last_writes(backend, [drifted_.address for drifted_ in drifts])
    orphans = planned.plan.orphans
    match output:
        case "json":
            session.out_data(as_json(render.document(drifts, writes, orphans), indent=2))
        case "markdown":
            session.out(render.markdown(drifts, writes, orphans))
        case _:
            session.out(render.human(drifts, writes, orphans, color=session.color(sys.stdout)))
    for change in planned.plan.in_motion:
        session.note(f"{change.address} was not compared: an operation on it is running")
    differs = bool(drifts or orphans) or bool(planned.plan.in_motion)
    code = Exit.CHANGES if detailed_exitcode and differs else Exit.OK
    return report_omissions(session, planned, code)


def last_writes(backend: Backend, addresses: Collection[Address]) -> Mapping[Address, Activity]:
    """Return the last writes of resources; none if the log cannot be read, or is empty."""
    if not isinstance(backend, SupportsActivity):
        return {}
    try:
        return backend.last_writes(addresses)
    except ServiceError:
        return {}


def pull(
    session: Session,
    paths: Paths,
    write: bool = flag(default=False),
    target: Target = None,
    ignore: Ignore = None,
) -> Exit:
    """Show live values that differ from the files, or write them, keeping comments and layout."""
    report = new_report(session, ignore)
    with session.backend() as backend:
        options = PlanOptions(targets=target or (), comparing=True, looking_for_orphans=False)
        planned = load_and_plan(session, backend, paths, report, options)
        if planned is None:
            return Exit.ERROR
        changes = write_live_values(find_drift(planned.plan))
    if not write:
        session.out(patch_of({rewrite.path: rewrite.text for rewrite in changes.rewrites}))
    places = files.places([*paths, *session.settings.project.overlay_folders])
    failed = write and not _write(session, changes.rewrites, places)
    for remnant in changes.left:
        field = f" {remnant.field}" if remnant.field else ""
        session.say(clean(f"WARNING: {remnant.drifted.address}{field} is left: {remnant.why}"))
    if not changes.rewrites and not changes.left:
        session.note("Nothing to pull: the files match the workspace.")
    return Exit.ERROR if changes.left or failed else Exit.OK


def _write(session: Session, rewrites: Iterable[Rewrite], named: frozenset[Path]) -> bool:
    """Write what can be written; return whether that is everything."""
    complete = True
    for rewrite in rewrites:
        try:
            rewrite.write(named)
            session.note(f"wrote {rewrite.path}")
        except OSError as error:
            complete = False
            why = error.strerror or error
            session.say(clean(f"ERROR: cannot write {rewrite.path}: {why}"))
    return complete


COMMANDS = {"drift": drift, "pull": pull}
