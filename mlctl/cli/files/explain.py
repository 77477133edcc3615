"""`mlctl explain`: the meaning of a rule, a kind, a field or an error of Azure."""

from __future__ import annotations

from mlctl.cli.shell import InvalidValue, Session, argument


def explain(
    session: Session,
    what: str = argument(metavar="WHAT"),
) -> None:
    """Explain a rule, a kind, a field or an Azure error: what it means, why, and how to fix it."""
    from mlctl.project.rules import ALL_RULES, unknown_rule
    from mlctl.render.findings import explain as render

    try:
        rules = ALL_RULES
        if unknown_rule(what) and session.settings.project.plugins:  # they may be what is broken
            rules = (*ALL_RULES, *session.policies.rules)
        session.out(render.explain(what, rules))
    except ValueError as error:
        raise InvalidValue(str(error)) from None


COMMANDS = {"explain": explain}
