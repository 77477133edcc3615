"""`mlctl import`: live resources become a project's. `mlctl lock`: who applies a project now."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from mlctl.backends.ports.backend import Backend
from mlctl.backends.ports.lease import Leases, SupportsLeases
from mlctl.cli.change.execution import ApplyArgs, Yes, carry_out_plan
from mlctl.cli.change.planning import Target, load_and_plan
from mlctl.cli.files.validate import Paths
from mlctl.cli.shell import Exit, Group, Session, UsageError, flag
from mlctl.cli.shell.command import duration
from mlctl.cli.shell.output import Output, Query, print_data
from mlctl.cli.shell.rule_choice import Ignore, new_report
from mlctl.cli.shell.workflow import settle_s
from mlctl.planning.ownership.owner import Ownership, adoption, owned_by_others
from mlctl.render.apply import leases
from mlctl.service_errors import Permanent
from mlctl.source.files import PROJECT_FILE
from mlctl.workflow.model import Planned, PlanOptions


def import_(
    session: Session,
    paths: Paths,
    args: ApplyArgs,
    take_from: list[str] | None = flag("--from", metavar="PROJECT"),
    target: Target = None,
    ignore: Ignore = None,
) -> Exit:
    """Adopt resources that the files declare but the project did not create, by tagging them."""
    ownership = session.settings.project.ownership()
    if ownership.project is None or not ownership.tagged:
        raise UsageError(
            f"import needs a project to tag resources with: name a `project` in {PROJECT_FILE}"
        )
    report, lease = new_report(session, ignore), args.lease(session, "import", paths)
    options = PlanOptions(targets=target or (), tagged=False, settle_s=settle_s(session))
    with session.backend() as backend:
        planned = load_and_plan(session, backend, paths, report, options)
        if planned is None:
            return Exit.ERROR
        if _is_refused(session, planned, ownership, take_from or ()):
            return Exit.REFUSED
        adopted = Planned(adoption(planned.plan, ownership), planned.graph)
        if adopted.plan.empty:
            session.note("Nothing to import: the project already owns these resources.")
            return Exit.OK
        return carry_out_plan(session, backend, adopted, args, lease)


def _is_refused(
    session: Session, planned: Planned, ownership: Ownership, take_from: Sequence[str]
) -> bool:
    """Report what belongs to another project, and what is missing; whether to refuse."""
    theirs = owned_by_others(planned.plan, ownership, take_from)
    for address, project in theirs.items():
        session.say(f"ERROR: {address} belongs to the project `{project}`: --from {project}")
    if theirs:
        return True
    for change in planned.plan.changes:
        if change.live is None and change.resource and change.resource.owner is None:
            session.note(f"{change.address} is not in the workspace: apply creates it")
    return False


NONE_HELD = "No lease is held: no project is being applied to this workspace."


def show(session: Session, output: Output = "table", query: Query = None) -> None:
    """Show the workspace's leases, for every project: who is applying, since when, with what."""
    with session.backend() as backend:
        documents = [leases.document(lease) for lease in _leases(backend).held()]
    if not documents:
        session.note(NONE_HELD)
    if documents or output != "table":
        print_data(session, documents, output, query, leases.COLUMNS)


def break_(
    session: Session,
    project: str | None = flag(metavar="NAME"),
    older_than: str = flag(default="0s", metavar="DURATION"),
    yes: Yes = False,
) -> Exit:
    """Break the lease of a project whose holder is stuck."""
    name = project or session.settings.project.text("project")
    if name is None:
        raise UsageError(f"give --project, or name one in {PROJECT_FILE}")
    age = duration(older_than)
    with session.backend() as backend:
        store = _leases(backend)
        lease = next((lease_ for lease_ in store.held() if lease_.project == name), None)
        if lease is None:
            session.say(f"Nothing to break: the lease of `{name}` is not held.")
            return Exit.OK
        for fact in leases.facts(lease):
            session.say(fact)
        if datetime.now(UTC).timestamp() - lease.since < age:
            session.say(f"Not broken: it has not been held for longer than {older_than}.")
            return Exit.OK
        if not (yes or session.confirmed(f"Break the lease of `{lease.project}`?")):
            return Exit.ERROR
        if not store.break_(lease):
            session.say("Not broken: it has ended, and another may hold it: mlctl lock show")
            return Exit.ERROR
        session.say(f"The lease of `{lease.project}` is broken: the next apply may take it.")
        return Exit.OK


def _leases(backend: Backend) -> Leases:
    if not isinstance(backend, SupportsLeases):
        raise Permanent("NoLeases", f"the {backend.name} backend has no leases")
    return backend.leases


COMMANDS = {
    "import": import_,
    "lock": Group(
        "The leases of projects that are being applied.", {"show": show, "break": break_}
    ),
}
