"""JMESPath queries, checked as far as they can be before anything is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mlctl.cli.parser.arguments import InvalidValue
from mlctl.dataclasses import dataclass
from mlctl.pointer import Data

# What jmespath raises of a query or of data that does not suit it; a slice of step 0 is a
# ValueError, and depth is bounded by Python's stack.
_ERRORS = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, RecursionError)


@dataclass(frozen=True, slots=True)
class CompiledQuery:
    """A query whose syntax and functions are right; `flag` is where it was given."""

    expression: Any
    flag: str

    def search(self, data: Data) -> Data:
        """What the query finds in `data`.

        Raises:
            InvalidValue: a function does not take what the data has there.
        """
        try:
            return self.expression.search(data)
        except _ERRORS as error:
            raise _invalid(error, self.flag) from None


def compiled(query: str, flag: str = "--query") -> CompiledQuery:
    """A query to search with.

    Raises:
        InvalidValue: it is not valid JMESPath, or calls a function that there is not, or with too
            many or too few arguments.
    """
    import jmespath

    try:
        expression = jmespath.compile(query)
        for call in _calls(expression.parsed):
            _check_call(call["value"], len(call["children"]))
    except _ERRORS as error:
        raise _invalid(error, flag) from None
    return CompiledQuery(expression, flag)


def _calls(node: Any) -> Iterator[Mapping[str, Any]]:
    """The function calls of a syntax tree."""
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
