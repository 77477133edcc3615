"""`mlctl explain` a rule, a kind, a field or an error of Azure; `mlctl schema` for editors."""

from __future__ import annotations

from pathlib import Path

from mlctl import files, schema
from mlctl.cli.shell import Exit, Group, InvalidValue, Session, argument


def explain(session: Session, what: str = argument(metavar="WHAT")) -> None:
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


def export(session: Session, folder: Path = argument(metavar="DIR")) -> Exit:
    """Write every schema to a folder, so that editors can check and complete YAML."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in schema.texts().items():
            files.write(folder / name, text.encode())
            session.out(str(folder / name))
    except OSError as error:
        session.say(f"ERROR: cannot write to {folder}: {error.strerror}")
        return Exit.ERROR
    return Exit.OK


def names(session: Session) -> None:
    """List the schemas."""
    session.out("\n".join(schema.names()))


COMMANDS = {
    "explain": explain,
    "schema": Group(
        "The JSON Schemas of the documents, for editors.", {"export": export, "list": names}
    ),
}
