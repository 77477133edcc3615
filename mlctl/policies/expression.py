"""One-line rules in JMESPath, the language of `--query`.

    compute.tier != 'low_priority' || compute.max_instances >= `2`

A rule holds if its value is true in JMESPath: neither false nor null, nor empty. A missing path is
null, which is neither less nor greater than anything. A function returns null for arguments that it
cannot handle. `glob(VALUE, PATTERN, ...)` is added to JMESPath's functions.

A rule costs at most its length times the size of its data: whatever makes values grow (`join`,
multi-selects, walks through arrays) is refused, and so are regular expressions.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import jmespath
from jmespath.exceptions import IncompleteExpressionError, JMESPathError, LexerError, ParseError
from jmespath.functions import Functions, signature
from jmespath.lexer import Lexer
from jmespath.visitor import TreeInterpreter

from mlctl.dataclasses import dataclass
from mlctl.pointer import Data, Pointer

Roots: TypeAlias = Mapping[str, Data]
_Node: TypeAlias = Mapping[str, Any]

_LONGEST = 2_000  # characters
_DEEPEST = 100  # levels of nesting
_CHAINS = ("subexpression", "index_expression")
_STEPS = ("field", "index")
_PROJECTIONS = ("projection", "value_projection", "filter_projection", "flatten")
_OPERATORS = ("comparator", "and_expression", "or_expression", "not_expression")
_VALUES = ("literal", "function_expression", "current", "identity")
_ALLOWED = frozenset((*_CHAINS, *_STEPS, *_PROJECTIONS, *_OPERATORS, *_VALUES))
_NAMES = ("unquoted_identifier", "quoted_identifier")
# Each of these returns more than it receives, or calls other functions.
_REFUSED_FUNCTIONS = frozenset({"join", "merge", "to_array", "to_string"})


class ExpressionError(Exception):
    """The text is not a rule; `start` and `end` are the place, in characters."""

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.message, self.start, self.end = message, start, end


@dataclass(frozen=True, slots=True)
class Path:
    """A name in a rule: its root, the path from there, and its place in the text."""

    root: str
    at: Pointer
    start: int
    end: int


class _RuleFunctions(Functions):
    """JMESPath's functions whose cost is bounded, and `glob`."""

    def call_function(self, function_name: str, resolved_args: Iterable[Any]) -> Any:
        """Call a function; null if it cannot handle the arguments."""
        try:
            return super().call_function(function_name, resolved_args)
        except (JMESPathError, ArithmeticError, ValueError):  # too large, or not a number
            return None

    @signature({"types": ["string"]}, {"types": ["string"], "variadic": True})
    def _func_glob(self, value: str, *patterns: Data) -> bool:
        folded = value.casefold()
        return any(fnmatchcase(folded, str(pattern).casefold()) for pattern in patterns)


_OPTIONS = jmespath.Options(custom_functions=_RuleFunctions())
_FUNCTIONS: Mapping[str, Any] = {
    name: function["signature"]
    for name, function in _RuleFunctions.FUNCTION_TABLE.items()
    if name not in _REFUSED_FUNCTIONS
    and not any("expref" in argument["types"] for argument in function["signature"])
}


@dataclass(frozen=True, slots=True)
class Condition:
    """A rule: whether it holds, and the paths that it names, in order."""

    text: str
    paths: tuple[Path, ...]
    _search: Callable[..., Data]

    def holds(self, roots: Roots) -> bool:
        """Whether the rule is true for the values of the roots."""
        try:
            value = self._search(dict(roots))
        except TypeError:  # a text compared with a number
            return False
        return value not in ("", [], {}, None) and value is not False


def parse(text: str) -> Condition:
    """Parse a rule; raises ExpressionError if it is not a rule."""
    if len(text) > _LONGEST:
        message = f"the rule is longer than {_LONGEST:,} characters"
        raise ExpressionError(message, _LONGEST, len(text))
    if not text.strip():
        raise ExpressionError("the rule is empty", 0, 1)
    try:
        names = list(_find_names(text))
        compiled = jmespath.compile(text)
    except ParseError as error:
        raise _syntax_error(text, error) from None
    except RecursionError:
        raise _too_deep(text) from None
    reader = _Reader(text, iter(names))
    # as `compiled.search`, which makes an interpreter for each value
    search = partial(TreeInterpreter(_OPTIONS).visit, compiled.parsed)
    return Condition(text, tuple(reader.paths(compiled.parsed)), search)


@dataclass(frozen=True, slots=True)
class _Name:
    """A name in a rule: of a field or a function."""

    text: str
    start: int
    end: int


def _find_names(text: str) -> Iterator[_Name]:
    """Return the names of fields and functions, in order."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an old spelling of texts, which is refused below
        tokens = list(Lexer().tokenize(text))
    for token, following in pairwise(tokens):
        start = token["start"]
        end = start + len(text[start : following["start"]].rstrip())
        if token["type"] == "literal" and text[start] == "`":
            _check_literal(text, start, end)
        if token["type"] in _NAMES:
            yield _Name(token["value"], start, end)


def _check_literal(text: str, start: int, end: int) -> None:
    """Refuse text in backticks that is not JSON."""
    written = text[start + 1 : end - 1].replace("\\`", "`")
    try:
        json.loads(written)
    except ValueError:
        message = f"`{written}` is not JSON; put texts in single quotes"
        raise ExpressionError(message, start, end) from None


def _syntax_error(text: str, error: ParseError) -> ExpressionError:
    if isinstance(error, LexerError):
        at = min(error.lexer_position, len(text) - 1)
        if text[at] in "\"'`":
            return ExpressionError(f"the text after {text[at]} is not closed", at, at + 1)
        return ExpressionError(f"`{text[at]}` means nothing in a rule", at, at + 1)
    if isinstance(error, IncompleteExpressionError):
        end = len(text.rstrip())
        return ExpressionError("the rule ends too early", end, end + 1)
    at, word = error.lex_position, str(error.token_value)
    backticks = "; put numbers in backticks" if word.lstrip("-").isdecimal() else ""
    return ExpressionError(f"`{word}` cannot stand here{backticks}", at, at + max(len(word), 1))


def _too_deep(text: str) -> ExpressionError:
    return ExpressionError("the rule is nested too deeply", 0, max(len(text), 1))


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the paths of a parsed rule, and refuses unbounded constructs.

    The parser forgets the places of names; its nodes are visited in the order of the text, so that
    each takes the next name.
    """

    text: str
    names: Iterator[_Name]

    def paths(self, node: _Node, *, depth: int = 0, inner: bool = False) -> Iterator[Path]:
        """Yield a node's paths that begin at a root; `inner` nodes begin inside a value."""
        if depth > _DEEPEST:
            raise _too_deep(self.text)
        kind = node["type"]
        if kind not in _ALLOWED:
            raise self._refused(f"a rule cannot have a {kind.replace('_', ' ')}")
        if kind in _CHAINS or kind == "field":
            yield from self._chain(list(_links(node)), depth, inner=inner)
        elif kind == "function_expression":
            yield from self._call(node, depth, inner=inner)
        elif kind in ("current", "identity") and not inner:
            raise self._refused("a path must begin with a kind, `change`, `plan` or `env`")
        elif kind in _PROJECTIONS:
            base, *following = node["children"]
            yield from self.paths(base, depth=depth + 1, inner=inner)
            for child in (*following[1:], *following[:1]):  # in the order of the text
                yield from self.paths(child, depth=depth + 1, inner=True)
        elif kind in _OPERATORS:
            for child in node["children"]:
                yield from self._operand(child, depth, inner=inner)
        elif kind == "literal" and isinstance(node["value"], list | dict):
            raise self._refused("an array can only be compared, or searched by `contains`")

    def _chain(self, links: list[_Node], depth: int, *, inner: bool) -> Iterator[Path]:
        """Yield those of `a.b[0].c`: one path, as far as it has names and numbers."""
        if links[0]["type"] != "field":
            yield from self.paths(links.pop(0), depth=depth + 1, inner=inner)
            inner = True
        steps: list[str | int] = []
        first = last = None
        while links and links[0]["type"] in _STEPS:
            step = links.pop(0)
            steps.append(step["value"])
            if step["type"] == "field":
                last = next(self.names)
                first = first or last
        if first is not None and last is not None and not inner:
            yield Path(first.text, tuple(steps[1:]), first.start, last.end)
        for link in links:
            yield from self.paths(link, depth=depth + 1, inner=True)

    def _call(self, node: _Node, depth: int, *, inner: bool) -> Iterator[Path]:
        name, arguments = next(self.names), node["children"]
        expected = _FUNCTIONS.get(name.text)
        if expected is None:
            functions = ", ".join(sorted(_FUNCTIONS))
            message = f"`{name.text}` is not a function of rules; use {functions}"
            raise ExpressionError(message, name.start, name.end)
        variadic = bool(expected and expected[-1].get("variadic"))
        if len(arguments) < len(expected) or (len(arguments) > len(expected) and not variadic):
            least = "at least " if variadic else ""
            message = f"`{name.text}` takes {least}{len(expected)}, not {len(arguments)} values"
            raise ExpressionError(message, name.start, name.end)
        for argument in arguments:
            if name.text == "contains":
                yield from self._operand(argument, depth, inner=inner)
            else:
                yield from self.paths(argument, depth=depth + 1, inner=inner)

    def _operand(self, node: _Node, depth: int, *, inner: bool) -> Iterator[Path]:
        """Yield the paths of an operand, which may be an array."""
        if node["type"] != "literal":
            yield from self.paths(node, depth=depth + 1, inner=inner)

    def _refused(self, message: str) -> ExpressionError:
        return ExpressionError(message, 0, max(len(self.text), 1))


def _links(node: _Node) -> Iterator[_Node]:
    """Return the nodes of a chain, in order."""
    if node["type"] not in _CHAINS:
        yield node
        return
    for child in node["children"]:
        yield from _links(child)
