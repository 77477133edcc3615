"""`mlctl import`: live resources become a project's."""

from __future__ import annotations

from typing import Annotated

import typer

from mlctl.cli.change.apply import Output, Parallelism, Yes, carry_out_plan
from mlctl.cli.change.locking import LockArgs
from mlctl.cli.change.plan import ApplyFormat, Target, load_and_plan
from mlctl.cli.change.pruning import PruneArgs
from mlctl.cli.files.validate import Paths
from mlctl.cli.parser.arguments import UsageError
from mlctl.cli.shell.command import command
from mlctl.cli.shell.exits import Exit
from mlctl.cli.shell.rule_choice import Ignore, new_report
from mlctl.cli.shell.session import Session
from mlctl.planning.ownership.adoption import adoption, owned_by_others
from mlctl.project.steps import Planned
from mlctl.source.files import PROJECT_FILE


def register(app: typer.Typer, verb: str) -> None:
    """Add the command."""
    command(app, verb)(import_)


def import_(
    session: Session,
    paths: Paths,
    yes: Yes = False,
    take_from: Annotated[
        list[str] | None,
        typer.Option(
            "--from", metavar="PROJECT", help="Take over what this project owns, too (repeatable)."
        ),
    ] = None,
    parallelism: Parallelism = 10,
    target: Target = None,
    locks: LockArgs = LockArgs(),
    output: Output = ApplyFormat.HUMAN,
    ignore: Ignore = None,
) -> Exit:
    """Take over what the files declare and somebody else has made: tag it as the project's.

    Nothing but the tags is written. What differs from its file stays as it is until `apply` or
    `pull`, and what another project owns is refused unless --from names that project.
    """
    ownership = session.settings.project.ownership()
    if ownership.project is None or not ownership.tagged:
        raise UsageError(f"import tags what it takes over: name a `project` in {PROJECT_FILE}")
    report, lease = new_report(session, ignore), locks.wanted(session, "import", paths)
    with session.backend() as backend:
        planned = load_and_plan(
            *(session, backend, paths, report),
            targets=target or (),
            settled=True,
            pruning=PruneArgs(no_tags=True),
        )
        if planned is None:
            return Exit.ERROR
        theirs = owned_by_others(planned.plan, ownership, take_from or ())
        for address, project in theirs.items():
            session.say(f"ERROR: {address} belongs to the project `{project}`: --from {project}")
        if theirs:
            return Exit.REFUSED
        absent = [one for one in planned.plan.changes if one.live is None and one.resource]
        for change in absent:
            if change.resource is not None and change.resource.owner is None:
                session.note(f"{change.address} is not in the workspace: apply makes it")
        made = Planned(adoption(planned.plan, ownership), planned.graph)
        if made.plan.empty:
            session.note("Nothing to take over: what is there is the project's already.")
            return Exit.OK
        return carry_out_plan(session, backend, made, yes, parallelism, output, lease)
