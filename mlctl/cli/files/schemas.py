"""`mlctl schema`: the JSON Schemas, for editors."""

from __future__ import annotations

from pathlib import Path

from mlctl import files, schema
from mlctl.cli.shell import Exit, Group, Session, argument


def export(
    session: Session,
    folder: Path = argument(metavar="DIR"),
) -> Exit:
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
    "schema": Group(
        "The JSON Schemas of the documents, for editors.", {"export": export, "list": names}
    )
}
