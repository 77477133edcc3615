"""`mlctl pull`: live values into the files that declare them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mlctl import files
from mlctl.cli.change.planning import Target, load_and_plan
from mlctl.cli.files.validate import Paths
from mlctl.cli.shell import Exit, Session, flag
from mlctl.cli.shell.rule_choice import Ignore, new_report
from mlctl.planning.drift import drifted, pulled
from mlctl.render.plan.patch import patch_of
from mlctl.render.terminal.terminal import clean
from mlctl.source.edit import Rewrite
from mlctl.workflow.model import PlanOptions


def pull(
    session: Session,
    paths: Paths,
    write: bool = flag(default=False),
    target: Target = None,
    ignore: Ignore = None,
) -> Exit:
    """Show live values that differ from the files, or write them, keeping comments and layout.

    Values that a file gives as a variable, a local file name or a secret are left as they are.
    """
    report = new_report(session, ignore)
    with session.backend() as backend:
        options = PlanOptions(targets=target or (), comparing=True, looking_for_orphans=False)
        planned = load_and_plan(session, backend, paths, report, options)
        if planned is None:
            return Exit.ERROR
        changes = pulled(drifted(planned.plan))
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


COMMANDS = {"pull": pull}
