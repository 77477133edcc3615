"""`mlctl drift`: what differs from the files in the workspace, who wrote it, and when."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping

from mlctl.backends.ports.backend import Backend
from mlctl.backends.ports.monitor import Activity, SupportsActivity
from mlctl.cli.change.planning import (
    KeepGoing,
    PlanFormat,
    Target,
    load_and_plan,
    report_omissions,
)
from mlctl.cli.files.validate import Paths
from mlctl.cli.shell import Exit, Session, flag
from mlctl.cli.shell.rule_choice import Ignore, new_report
from mlctl.inert import as_json
from mlctl.kinds import Address
from mlctl.planning.drift import drifted
from mlctl.render.plan import drift as render
from mlctl.service_errors import ServiceError
from mlctl.workflow.model import PlanOptions


def drift(
    session: Session,
    paths: Paths,
    output: PlanFormat = flag(
        "Output format; markdown suits an issue.", "-o", default=PlanFormat.HUMAN
    ),
    detailed_exitcode: bool = flag(
        "Exit with 2 if there is drift (or something could not be compared), else 0.", default=False
    ),
    target: Target = None,
    keep_going: KeepGoing = False,
    ignore: Ignore = None,
) -> Exit:
    """Show how the workspace differs from the files, field by field, and who wrote last.

    If the tag `mlctl.spec-hash` shows that the file is the one that was applied, the change was
    made elsewhere; otherwise the file may have changed. Time and author come from the activity log,
    or are "unknown" if it cannot be read.
    """
    report = new_report(session, ignore)
    with session.backend() as backend:
        options = PlanOptions(targets=target or (), comparing=True, keep_going=keep_going)
        planned = load_and_plan(session, backend, paths, report, options)
        if planned is None:
            return Exit.ERROR
        drifts = list(drifted(planned.plan))
        writes = last_writes(backend, [drifted_.address for drifted_ in drifts])
    orphans = planned.plan.orphans
    match output:
        case PlanFormat.JSON:
            session.out_data(as_json(render.document(drifts, writes, orphans), indent=2))
        case PlanFormat.MARKDOWN:
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


COMMANDS = {"drift": drift}
