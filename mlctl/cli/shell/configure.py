"""`mlctl configure`: set defaults. az's own file is read, never written."""

from __future__ import annotations

import configparser
import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from mlctl import files
from mlctl.cli.parser.arguments import TypedFlag, UsageError
from mlctl.cli.parser.declare import flag
from mlctl.cli.parser.tree import SWITCH
from mlctl.cli.shell.command import flag_values
from mlctl.cli.shell.exits import Exit
from mlctl.cli.shell.output import Output, OutputFormat, Query, print_data
from mlctl.cli.shell.project_paths import project_file_of
from mlctl.cli.shell.scope import LOCATION, PARTS, Configuration, ScopePart, own_file, read_ini
from mlctl.cli.shell.session import Session
from mlctl.pointer import Data
from mlctl.source.files import PROJECT_FILE

_KNOWN = {part.default: part for part in (*PARTS.values(), LOCATION)}


def configure(
    session: Session,
    defaults: list[TypedFlag] | None = flag(
        "Set defaults: subscription, group, workspace, location; an empty value removes one.",
        "-d",
        metavar="NAME=VALUE ...",
    ),
    list_defaults: str | None = flag(
        "List the defaults and where each is set.", "-l", metavar=SWITCH
    ),
    output: Output = OutputFormat.JSON,
    query: Query = None,
) -> Exit:
    """Set or list defaults: subscription, resource group, workspace and location.

    They are stored in ~/.config/mlctl/config. Flags, environment variables and mlctl.yml take
    precedence over them; they take precedence over `az configure`.
    """
    if not defaults and list_defaults is None:
        raise UsageError("give --defaults NAME=VALUE ..., or --list-defaults.")
    if defaults:
        _write(
            own_file(session.environment),
            dict(_pairs(session, flag_values(defaults))),
        )
    if list_defaults is not None:
        fresh = Configuration.read(project_file_of(()), session.environment)
        print_data(session, list(_list_defaults(fresh)), output, query)
    return Exit.OK


def _pairs(session: Session, texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield names and values; scripts for az may set others, which are of no use here."""
    for text in texts:
        name, equals, value = text.partition("=")
        if equals and name in _KNOWN:
            yield name, value
            continue
        why = f"'{text}' is not a default: write NAME=VALUE, NAME one of {', '.join(_KNOWN)}."
        if not equals or not session.as_az:
            raise UsageError(why)
        session.say(f"WARNING: {why}")


def _write(path: Path, values: Mapping[str, str]) -> None:
    """Put the values into the file, in one atomic write."""
    sections = read_ini(path)
    defaults = {**sections.get("defaults", {}), **values}
    sections["defaults"] = {name: value for name, value in defaults.items() if value}
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_dict(sections)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    parser.write(text)
    files.write(path, text.getvalue().encode(), private=True)


def _list_defaults(settings: Configuration) -> Iterator[Data]:
    for name, part in _KNOWN.items():
        value = settings.configured(part)
        if value is not None:
            yield {"name": name, "source": _origin(settings, part), "value": value}


def _origin(settings: Configuration, part: ScopePart) -> str:
    variable = next((name for name in part.variables if settings.environment.get(name)), None)
    if variable is not None:
        return f"${variable}"
    if settings.project.text(part.key):
        document = settings.project.document
        return document.source.name if document else PROJECT_FILE
    own_default = settings.own.get("defaults", {}).get(part.default)
    return str(own_file(settings.environment)) if own_default else "az configure"


COMMANDS = {"configure": configure}
