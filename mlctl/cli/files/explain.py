"""`mlctl explain`: the meaning of a rule, a kind or a field."""

from __future__ import annotations

from typing import Annotated

from mlctl.cli.parser.arguments import InvalidValue
from mlctl.cli.parser.declare import ArgumentSpec, CommandGroup
from mlctl.cli.shell.command import command
from mlctl.cli.shell.exits import Exit
from mlctl.cli.shell.session import Session


def register(app: CommandGroup, verb: str) -> None:
    """Add the command."""
    command(app, verb)(explain)


def explain(
    session: Session,
    what: Annotated[
        str,
        ArgumentSpec(metavar="RULE|KIND|KIND.FIELD", help="MLC301, compute, or compute.tier."),
    ],
) -> Exit:
    """Explain a rule, a kind or a field: meaning, bounds, default, why, how to fix."""
    from mlctl.project.rules import ALL_RULES, unknown_rule
    from mlctl.render.findings import explain as render

    try:
        rules = ALL_RULES
        if unknown_rule(what) and session.settings.project.plugins:  # they may be what is broken
            rules = (*ALL_RULES, *session.policies.rules)
        session.out(render.explain(what, rules))
    except ValueError as error:
        raise InvalidValue(str(error)) from None
    return Exit.OK
