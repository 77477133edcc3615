"""`mlctl schema`: the JSON Schemas, for editors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from mlctl import files, schema
from mlctl.cli.parser.declare import ArgumentSpec, CommandGroup
from mlctl.cli.shell.command import command
from mlctl.cli.shell.exits import Exit
from mlctl.cli.shell.session import Session


def register(app: CommandGroup, verb: str) -> None:
    """Add the group of commands."""
    group = CommandGroup(help="The JSON Schemas of the documents, for editors.")
    command(group, "export")(export)
    command(group, "list")(names)
    app.groups[verb] = group


def export(
    session: Session,
    folder: Annotated[
        Path, ArgumentSpec(metavar="DIR", help="Where to write them; made if need be.")
    ],
) -> Exit:
    """Write every schema to a folder, for an editor to check and complete YAML by."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in schema.texts().items():
            files.write(folder / name, text.encode())
            session.out(str(folder / name))
    except OSError as error:
        session.say(f"ERROR: cannot write to {folder}: {error.strerror}")
        return Exit.ERROR
    return Exit.OK


def names(session: Session) -> Exit:
    """List the schemas."""
    session.out("\n".join(schema.names()))
    return Exit.OK
