"""The language of one-line rules.

    compute.tier == "low_priority" implies compute.max_instances >= 2

    rule       := either [ "implies" rule ]
    either     := both { "or" both }
    both       := negation { "and" negation }
    negation   := "not" negation | comparison
    comparison := value [ operator value ]      operator: == != < <= > >= in matches
    value      := "text" | number | true | false | null | "[" values "]" | "(" rule ")"
                | has(path) | size(value) | path
    path       := root { "." name | "[" "text" or number "]" }

A path that is not there is null. Null is less and greater than nothing, and in nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from mlctl import pointer
from mlctl.pointer import Data, Pointer

Roots: TypeAlias = Mapping[str, Data]
_Evaluated: TypeAlias = Callable[[Roots], Data]

_TOKEN = re.compile(
    r"\s*(?:(?P<text>\"(?:[^\"\\]|\\.)*\"|'[^']*')|(?P<number>-?\d+(?:\.\d+)?)"
    r"|(?P<name>[A-Za-z_][\w-]*)|(?P<sign>==|!=|<=|>=|[<>()\[\].,]))"
)
_WORDS: Mapping[str, Data] = {"true": True, "false": False, "null": None}
_KEYWORDS = ("implies", "or", "and", "not", "in", "matches")
_DEEP = 50  # levels of parentheses


class ExpressionError(Exception):
    """The text is no rule; `start` and `end` say where, in characters."""

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.message, self.start, self.end = message, start, end


@dataclass(frozen=True, slots=True)
class Path:
    """What a rule names: the root, the way from there, and where it stands in the text."""

    root: str
    at: Pointer
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Expression:
    """A rule: whether it holds, and the paths that it names, in their order."""

    text: str
    paths: tuple[Path, ...]
    _holds: _Evaluated

    def holds(self, roots: Roots) -> bool:
        """Whether the rule is true of what the roots stand for."""
        return bool(self._holds(roots))


def parse(text: str) -> Expression:
    """The rule that a text spells.

    Raises:
        ExpressionError: it spells none.
    """
    parser = _Parser(text, list(_tokens(text)))
    holds = parser.rule()
    parser.expect_end()
    return Expression(text, tuple(parser.paths), holds)


@dataclass(frozen=True, slots=True)
class _Token:
    sort: str
    text: str
    start: int
    end: int


def _tokens(text: str) -> Iterator[_Token]:
    end = 0
    while text[end:].strip():
        found = _TOKEN.match(text, end)
        if found is None:
            start = end + len(text[end:]) - len(text[end:].lstrip())
            raise ExpressionError(f"`{text[start]}` means nothing in a rule", start, start + 1)
        sort = str(found.lastgroup)
        yield _Token(sort, found[sort], found.start(sort), found.end())
        end = found.end()
    yield _Token("end", "", len(text.rstrip()), len(text.rstrip()))


@dataclass(slots=True)
class _Parser:
    text: str
    tokens: list[_Token]
    paths: list[Path] = field(default_factory=list)
    at: int = 0
    depth: int = 0

    @property
    def next(self) -> _Token:
        return self.tokens[self.at]

    def take(self, *words: str) -> bool:
        """Whether the next token is one of these, which is then behind."""
        if self.next.sort not in ("name", "sign") or self.next.text not in words:
            return False
        self.at += 1
        return True

    def expect(self, word: str) -> None:
        if not self.take(word):
            raise self.error(f"`{word}` is missing")

    def expect_end(self) -> None:
        if self.next.sort != "end":
            raise self.error(f"`{self.next.text}` cannot stand here")

    def error(self, message: str) -> ExpressionError:
        return ExpressionError(message, self.next.start, max(self.next.end, self.next.start + 1))

    def rule(self) -> _Evaluated:
        self.depth += 1
        if self.depth > _DEEP:
            raise self.error("the rule is nested too deeply")
        left = self.either()
        if self.take("implies"):
            condition, right = left, self.rule()
            self.depth -= 1
            return lambda roots: not condition(roots) or bool(right(roots))
        self.depth -= 1
        return left

    def either(self) -> _Evaluated:
        parts = [self.both()]
        while self.take("or"):
            parts.append(self.both())
        return parts[0] if len(parts) == 1 else lambda roots: any(one(roots) for one in parts)

    def both(self) -> _Evaluated:
        parts = [self.negation()]
        while self.take("and"):
            parts.append(self.negation())
        return parts[0] if len(parts) == 1 else lambda roots: all(one(roots) for one in parts)

    def negation(self) -> _Evaluated:
        negations = 0
        while self.take("not"):
            negations += 1
        held = self.comparison()
        if not negations:
            return held
        return lambda roots: bool(held(roots)) is (negations % 2 == 0)

    def comparison(self) -> _Evaluated:
        left, token = self.value(), self.next
        if not self.take(*_OPERATORS):
            return left
        first = self.next
        right = self.value()
        if token.text == "matches":
            self._check_pattern(first)
        compare = _OPERATORS[token.text]
        return lambda roots: compare(left(roots), right(roots))

    def _check_pattern(self, token: _Token) -> None:
        if token.sort != "text":
            raise ExpressionError("`matches` takes a pattern as text", token.start, token.end)
        try:
            re.compile(_unquoted(token.text))
        except re.error as error:
            raise ExpressionError(f"the pattern is none: {error}", token.start, token.end) from None

    def value(self) -> _Evaluated:
        token = self.next
        if self.take("("):
            held = self.rule()
            self.expect(")")
            return held
        if self.take("["):
            return self._list()
        if token.sort in ("end", "sign") or token.text in _KEYWORDS:
            raise self.error("a value is missing" if token.sort == "end" else _no_value(token.text))
        self.at += 1
        if token.sort == "name" and token.text not in _WORDS:
            return self._call(token) if self.take("(") else self._path(token)
        value = _literal(token)
        return lambda _roots: value

    def _call(self, name: _Token) -> _Evaluated:
        function = _FUNCTIONS.get(name.text)
        if function is None:
            known = " and ".join(_FUNCTIONS)
            message = f"`{name.text}` is no function; there are {known}"
            raise ExpressionError(message, name.start, name.end)
        inner = self.value()
        self.expect(")")
        return lambda roots: function(inner(roots))

    def _list(self) -> _Evaluated:
        items: list[_Evaluated] = []
        while not self.take("]"):
            items.append(self.value())
            if not self.take(","):
                self.expect("]")
                break
        return lambda roots: [one(roots) for one in items]

    def _path(self, first: _Token) -> _Evaluated:
        steps: list[str | int] = []
        while True:
            if self.take("."):
                if self.next.sort != "name":
                    raise self.error("the name of a field is missing")
                steps.append(self.next.text)
                self.at += 1
            elif self.take("["):
                token = self.next
                if token.sort not in ("text", "number"):
                    raise self.error('write ["key"] or [0]')
                steps.append(_unquoted(token.text) if token.sort == "text" else int(token.text))
                self.at += 1
                self.expect("]")
            else:
                break
        root, at = first.text, tuple(steps)
        self.paths.append(Path(root, at, first.start, self.tokens[self.at - 1].end))
        return lambda roots: pointer.get(roots.get(root), at)


def _literal(token: _Token) -> Data:
    if token.sort == "text":
        return _unquoted(token.text)
    if token.sort == "number":
        return float(token.text) if "." in token.text else int(token.text)
    return _WORDS[token.text]


def _no_value(text: str) -> str:
    return f"`{text}` is no value" + ("; write == to compare" if text == "=" else "")


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text.startswith('"') else text[1:-1]


def _number(value: Data) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _ordered(compare: Callable[[Data, Data], bool]) -> Callable[[Data, Data], bool]:
    """A comparison that is false of what has no order."""

    def holds(one: Data, other: Data) -> bool:
        alike = (_number(one) and _number(other)) or (
            isinstance(one, str) and isinstance(other, str)
        )
        return alike and compare(one, other)

    return holds


def _equal(one: Data, other: Data) -> bool:
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


def _within(one: Data, other: Data) -> bool:
    if isinstance(other, str):
        return isinstance(one, str) and one in other
    return isinstance(other, list | dict) and any(_equal(one, item) for item in other)


_OPERATORS: Mapping[str, Callable[[Data, Data], bool]] = {
    "==": _equal,
    "!=": lambda one, other: not _equal(one, other),
    "<": _ordered(lambda one, other: one < other),
    "<=": _ordered(lambda one, other: one <= other),
    ">": _ordered(lambda one, other: one > other),
    ">=": _ordered(lambda one, other: one >= other),
    "in": _within,
    "matches": lambda one, other: isinstance(one, str) and re.search(other, one) is not None,
}
_FUNCTIONS: Mapping[str, Callable[[Data], Data]] = {
    "has": lambda value: value is not None,
    "size": lambda value: len(value) if isinstance(value, str | list | dict) else 0,
}
