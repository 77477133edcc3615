"""How az-style commands print data: a query, then one of az's formats."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from mlctl.cli.parser.declare import OptionSpec, flag
from mlctl.cli.parser.tree import GLOBAL
from mlctl.cli.shell.query import compiled
from mlctl.cli.shell.session import Session
from mlctl.dataclasses import dataclass
from mlctl.masking import masked
from mlctl.pointer import Data

if TYPE_CHECKING:
    from mlctl.kinds.facts import Columns
    from mlctl.planning.model import Plan


class OutputFormat(StrEnum):
    """az's output formats."""

    JSON = "json"
    JSONC = "jsonc"
    YAML = "yaml"
    YAMLC = "yamlc"
    TABLE = "table"
    TSV = "tsv"
    NONE = "none"


class ChartOutputFormat(StrEnum):
    """Output formats of what can be drawn."""

    TABLE = "table"
    JSON = "json"
    CHART = "chart"
    TSV = "tsv"
    YAML = "yaml"


Output = Annotated[OutputFormat, OptionSpec("--output", "-o", help="Output format.", panel=GLOBAL)]
Query = Annotated[
    str | None,
    OptionSpec("--query", metavar="JMESPATH", help="JMESPath query of the output.", panel=GLOBAL),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputArgs:
    """How an az-style command prints data; None is "as configured"."""

    output: OutputFormat | None = flag("Output format; json unless configured.", "-o", panel=GLOBAL)
    query: Query = None


def print_data(
    session: Session,
    data: Data,
    output: OutputFormat | None,
    query: str | None,
    columns: Columns | None = None,
) -> None:
    """Data on stdout, after the query, in az's format: the one given, else the one configured.

    `columns` are those of a table, unless a query made something else of the data.

    Raises:
        InvalidValue: the query is not valid JMESPath, or not for this data.
    """
    from mlctl.render.cloud import resources, tables

    chosen = output or configured_format(session)
    data = masked(data)  # before the query, which may leave out the names
    if query is not None:
        data = compiled(query).search(data)
    elif columns is not None and chosen is OutputFormat.TABLE:
        data = tables.rows(data, columns)
    text = resources.output(data, chosen.value, color=session.color(sys.stdout))
    if chosen is OutputFormat.TABLE:
        session.out(text)
    else:
        session.out_data(text)


def print_plan(session: Session, plan: Plan, output: OutputFormat | None) -> None:
    """A plan on stdout: for people, or as data where an output format is given."""
    if output is None:
        from mlctl.render.plan import blocks as render

        session.out(render.human(plan, color=session.color(sys.stdout), width=session.width))
        return
    from mlctl.render.plan import plan_json

    print_data(session, plan_json.document(plan), output, None)


def configured_format(session: Session) -> OutputFormat:
    """az's `core.output`, where it is one of the formats; JSON otherwise."""
    try:
        return OutputFormat(session.settings.core("output") or "json")
    except ValueError:
        return OutputFormat.JSON
