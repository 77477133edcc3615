"""Print data as az-style commands do: a JMESPath query, then one of az's formats."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args

from mlctl.cli.parser.arguments import InvalidValue
from mlctl.cli.parser.declare import flag
from mlctl.cli.parser.tree import GLOBAL
from mlctl.cli.shell.session import Session
from mlctl.dataclasses import dataclass
from mlctl.masking import masked
from mlctl.pointer import Data

if TYPE_CHECKING:
    from mlctl.kinds.facts import Columns
    from mlctl.planning.model import Plan


OutputFormat: TypeAlias = Literal["json", "jsonc", "yaml", "yamlc", "table", "tsv", "none"]
ChartOutputFormat: TypeAlias = Literal["table", "json", "chart", "tsv", "yaml"]
Output = Annotated[OutputFormat, flag("--output", "-o", panel=GLOBAL)]
Query = Annotated[str | None, flag("--query", metavar="JMESPATH", panel=GLOBAL)]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputArgs:
    """How an az-style command prints data; None means "as configured"."""

    output: OutputFormat | None = flag("-o", panel=GLOBAL)
    query: Query = None

    def print(
        self, session: Session, data: Data, columns: Columns | None = None, *, secret: bool = False
    ) -> None:
        """Print data on stdout, as `print_data` does."""
        print_data(session, data, self.output, self.query, columns, secret=secret)


def print_data(
    session: Session,
    data: Data,
    output: OutputFormat | None,
    query: str | None,
    columns: Columns | None = None,
    *,
    secret: bool = False,
) -> None:
    """Print data on stdout after the query, in the given or configured az format.

    `columns` are those of a table, unless a query made something else of the data. `secret`: what
    looks like a secret is what was asked for.
    """
    from mlctl.render.cloud import resources

    configured = output_format(session.settings.core("output"))  # of az
    chosen = output or configured or "json"
    data = data if secret else masked(data)  # before the query, which may remove the names
    if query is not None:
        data = compile_query(query).search(data)
    elif columns is not None and chosen == "table":
        data = resources.rows(data, columns)
    text = resources.output(data, chosen, color=session.color(sys.stdout))
    if chosen == "table":
        session.out(text)
    else:
        session.out_data(text)


def print_plan(session: Session, plan: Plan, output: OutputFormat | None) -> None:
    """Print a plan on stdout: for people, or as data if an output format is given."""
    if output is None:
        from mlctl.render.plan import blocks as render

        session.out(render.human(plan, color=session.color(sys.stdout), width=session.width))
        return
    from mlctl.render.plan import plan_json

    print_data(session, plan_json.document(plan), output, None)


def output_format(text: str | None) -> OutputFormat | None:
    """Return the format of this name; None if there is none."""
    formats: tuple[OutputFormat, ...] = get_args(OutputFormat)
    return next((name for name in formats if name == text), None)


# Errors of jmespath for a query or for unsuitable data; a slice of step 0 is a ValueError, and
# depth is bounded by Python's stack.
_ERRORS = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, RecursionError)


@dataclass(frozen=True, slots=True)
class CompiledQuery:
    """A query with valid syntax and functions; `flag` is the flag that gave it."""

    expression: Any
    flag: str

    def search(self, data: Data) -> Data:
        """Return the query's result."""
        try:
            return self.expression.search(data)
        except _ERRORS as error:
            raise _invalid(error, self.flag) from None


def compile_query(query: str, flag: str = "--query") -> CompiledQuery:
    """Compile a query."""
    import jmespath

    try:
        expression = jmespath.compile(query)
        for call in _calls(expression.parsed):
            _check_call(call["value"], len(call["children"]))
    except _ERRORS as error:
        raise _invalid(error, flag) from None
    return CompiledQuery(expression, flag)


def _calls(node: Any) -> Iterator[Mapping[str, Any]]:
    """Return the function calls of a syntax tree."""
    if not isinstance(node, dict):
        return
    if node["type"] == "function_expression":
        yield node
    for inner in node["children"]:
        yield from _calls(inner)


def _check_call(name: str, count: int) -> None:
    from jmespath.functions import Functions

    function = Functions.FUNCTION_TABLE.get(name)
    if function is None:
        raise ValueError(f"Unknown function: {name}()")
    signature = function["signature"]
    variadic = bool(signature) and bool(signature[-1].get("variadic"))
    if count < len(signature) or (count > len(signature) and not variadic):
        least = "at least " if variadic else ""
        raise ValueError(f"{name}() takes {least}{len(signature)} argument(s), and has {count}")


def _invalid(error: Exception, flag: str) -> InvalidValue:
    text = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
    return InvalidValue(text, flag=flag)
