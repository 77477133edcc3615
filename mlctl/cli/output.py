"""How az-style commands print data: a query, then one of az's formats."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from mlctl.cli.session import Session
from mlctl.pointer import Data

_GLOBAL = "Global Arguments"


class OutputFormat(StrEnum):
    """az's output formats."""

    JSON = "json"
    JSONC = "jsonc"
    YAML = "yaml"
    YAMLC = "yamlc"
    TABLE = "table"
    TSV = "tsv"
    NONE = "none"


Output = Annotated[
    OutputFormat, typer.Option("--output", "-o", help="Output format.", rich_help_panel=_GLOBAL)
]


def _compiled(query: str | None) -> str | None:
    """A query that cannot be read is refused before anything is done."""
    if query is not None:
        import jmespath
        from jmespath.exceptions import JMESPathError

        try:
            jmespath.compile(query)
        except JMESPathError as error:
            raise typer.BadParameter(str(error)) from None
    return query


Query = Annotated[
    str | None,
    typer.Option(
        "--query",
        metavar="JMESPATH",
        help="JMESPath query of the output.",
        rich_help_panel=_GLOBAL,
        callback=_compiled,
    ),
]


def print_data(session: Session, data: Data, output: OutputFormat, query: str | None) -> None:
    """Data on stdout, after the query, in az's format.

    Raises:
        typer.BadParameter: the query is no JMESPath.
    """
    from mlctl.render import resources

    if query is not None:
        import jmespath
        from jmespath.exceptions import JMESPathError

        try:
            data = jmespath.search(query, data)
        except JMESPathError as error:
            raise typer.BadParameter(f"{error}", param_hint="--query") from None
    session.out(resources.output(data, output.value, color=session.color(sys.stdout)))
