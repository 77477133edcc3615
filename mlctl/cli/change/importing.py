"""`mlctl import`: live resources become a project's."""

from __future__ import annotations

from collections.abc import Sequence

from mlctl.cli.change.execution import ApplyArgs, carry_out_plan
from mlctl.cli.change.planning import Target, load_and_plan
from mlctl.cli.files.validate import Paths
from mlctl.cli.shell import Exit, Session, UsageError, flag
from mlctl.cli.shell.rule_choice import Ignore, new_report
from mlctl.cli.shell.workflow import settle_s
from mlctl.planning.ownership.owner import Ownership, adoption, owned_by_others
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


COMMANDS = {"import": import_}
