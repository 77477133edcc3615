"""`mlctl show`: a saved plan, printed or render_picture."""

from __future__ import annotations

import sys
from pathlib import Path

from mlctl import inert, planfile
from mlctl.cli.change.planning import PlanFormat
from mlctl.cli.files.graph import Picture, render_picture
from mlctl.cli.shell import Session, UsageError, argument, flag


def show(
    session: Session,
    plan: Path = argument(metavar="PLAN"),
    output: PlanFormat = flag("-o", default="human"),
    graph: Picture | None = flag("--graph"),
) -> None:
    """Show a saved plan. Reads only that file, no workspace and no YAML."""
    from mlctl.render.plan import saved as render

    if output == "markdown":
        raise UsageError(
            "a saved plan is shown as human or json; for markdown use `mlctl plan -o markdown`"
        )
    saved = planfile.load(plan)
    if graph is not None:
        address_of = {step.id: str(step.change) for step in saved.work.steps}
        order = [
            (address_of[needed], str(step.change))
            for step in saved.work.steps
            for needed in step.needs
        ]
        panel = render.picture(saved.document, order)
        session.out(render_picture(session, [panel], graph).rstrip("\n"))
    elif output == "json":
        session.out_data(inert.as_json(saved.document))
    else:
        session.out(render.human(saved.document, color=session.color(sys.stdout)))


COMMANDS = {"show": show}
