"""Explain the errors of YAML parsers, with what to do."""

from __future__ import annotations

from collections.abc import Callable

from yaml import MarkedYAMLError

from mlctl.dataclasses import dataclass
from mlctl.pointer import MAX_DEPTH
from mlctl.source.events import Mark, MarkedRange, SourceError, TextPosition, position_in
from mlctl.source.rules import LESS, SYNTAX, TOO_BIG


@dataclass(frozen=True, slots=True)
class _ParserError:
    """The parser's report: a `problem` at `end`, in what began at `start`."""

    problem: str
    start: Mark
    end: Mark
    lines: list[str]

    @property
    def before(self) -> str:
        """The text of the line up to the problem."""
        return self.lines[self.end.line][: self.end.column]

    @property
    def here(self) -> str:
        """The text of the line from the problem on."""
        return self.lines[self.end.line][self.end.column :]

    @property
    def opener(self) -> str:
        """The character that begins what could not be read."""
        return self.lines[self.start.line][self.start.column : self.start.column + 1]


def explain(error: MarkedYAMLError, lines: list[str]) -> SourceError:
    """Explain an error of libyaml or of the Python parser, whose words differ."""
    end = position_in(error.problem_mark or error.context_mark or TextPosition(0, 0, 0), lines)
    start = position_in(error.context_mark or end, lines)
    parser_error = _ParserError(error.problem or "", start, end, lines)
    if "nesting depth" in parser_error.problem:  # libyaml's own limit, from 0.2.6 on
        words = f"the document is nested more than {MAX_DEPTH} levels deep"
        return SourceError(TOO_BIG, words, MarkedRange(end, _after(end, 1)), LESS)
    if parser_error.here.startswith("\t"):
        return _tab(parser_error)
    for context, problem, explain_error in _EXPLANATIONS:
        if context in (error.context or "") and problem in parser_error.problem:
            return explain_error(parser_error)
    return _at(end, 1, f"this is not YAML: {parser_error.problem}", None)


def _tab(error: _ParserError) -> SourceError:
    if error.before.strip():
        return _at(error.end, 1, "a tab is not allowed here", "write a space instead")
    return _at(error.end, 1, "a tab is used for indentation", "indent with spaces")


def _unclosed_quote(error: _ParserError) -> SourceError:
    hint = f"close it with `{error.opener}`"
    return _at(error.start, 1, "this quote is never closed", hint)


def _escape(error: _ParserError) -> SourceError:
    line, column = error.lines[error.end.line], error.end.column
    column = max(
        line.rfind("\\", 0, column + 1), 0
    )  # the parsers point at different characters of it
    mark = TextPosition(error.end.index, error.end.line, column)
    words = f"`{line[column : column + 2]}` is not an escape sequence in double quotes"
    return _at(mark, 2, words, "double the backslash, or use single quotes")


def _flow(error: _ParserError) -> SourceError:
    opener, end = error.opener, error.end
    if opener not in ("[", "{") or error.start.index == end.index:
        if error.here:
            return _at(
                end, 1, f"a value is missing before this `{error.here[0]}`", "write the value"
            )
        hint = "close the open bracket"
        return _at(_last(error.lines), 1, "the text ends inside brackets", hint)
    closer = "]" if opener == "[" else "}"
    if error.here and error.start.line == end.line:
        words = f"a `,` or `{closer}` is missing before this"
        around = MarkedRange(error.start, _after(error.start, 1), "for what begins here")
        return _at(end, 1, words, f"add `,` between two entries, or close with `{closer}`", around)
    around = MarkedRange(end, _after(end, 1), f"a `,` or `{closer}` was expected before this")
    return _at(
        error.start, 1, f"this `{opener}` is not closed", f"close it with `{closer}`", around
    )


def _bad_start(error: _ParserError) -> SourceError:
    odd = "a backtick" if error.here.startswith("`") else f"`{error.here[:1]}`"
    words = f"a plain value cannot begin with {odd}"
    return _at(error.end, 1, words, "put the value in quotes")


def _colon(error: _ParserError) -> SourceError:
    if ": " in error.before or error.before.startswith("---"):
        hint = "quote the value if the `:` belongs to it; otherwise begin a new line"
        return _at(error.end, 1, "a second `:` is not allowed on this line", hint)
    hint = "align the key with its siblings; a `:` before it needs a space after it"
    return _at(error.end, 1, "a key is not allowed here", hint)


def _no_colon(error: _ParserError) -> SourceError:
    line = error.lines[error.start.line][error.start.column :].rstrip()
    return _at(error.start, len(line), "a key needs a `:` and a value", "write `key: value`")


def _block(error: _ParserError) -> SourceError:
    kind = "list" if error.opener == "-" else "mapping"
    first = f"line {error.start.line + 1}"
    around = MarkedRange(error.start, _after(error.start, 1), f"the {kind} begins here")
    if error.before.strip(" -"):
        hint = "put the whole value in quotes, or begin a new line"
        return _at(error.end, 1, "nothing can follow the value on its line", hint)
    if error.here.startswith(("}", "]")):
        return _at(error.end, 1, f"this `{error.here[0]}` closes nothing", "remove it", around)
    if error.here.startswith(":"):
        return _at(error.end, 1, "a key is missing before this `:`", "write the key")
    if error.end.column == error.start.column:
        odd = "a key is not allowed" if kind == "list" else "a list item is not allowed"
        only = "`-` items" if kind == "list" else "keys"
        hint = f"the {kind} of {first} has only {only} at this level"
        return _at(error.end, 1, f"{odd} in this {kind}", hint, around)
    hint = f"begin it in column {error.start.column + 1}, or align it with the lines above it"
    return _at(error.end, 1, f"this is not aligned with the {kind} of {first}", hint, around)


def _no_value(error: _ParserError) -> SourceError:
    words = f"a value cannot begin with `{error.here[:1]}`" if error.here else "a value is missing"
    return _at(error.end, 1, words, "put the value in quotes")


def _list_on_line(error: _ParserError) -> SourceError:
    words = "a list cannot begin on the line of its key"
    return _at(error.end, 1, words, "begin the list on a separate line")


def _no_start(error: _ParserError) -> SourceError:
    words = "a new document has to begin with `---`"
    return _at(error.end, 1, words, "put `---` on a separate line above it")


def _tag_handle(error: _ParserError) -> SourceError:
    return _at(error.end, 1, "the tag's prefix is not defined", "remove the tag")


def _version(error: _ParserError) -> SourceError:
    words = "only YAML 1 is supported"
    return _at(error.end, len(error.here), words, "remove this line")


_EXPLANATIONS: tuple[tuple[str, str, Callable[[_ParserError], SourceError]], ...] = (
    # the context and the problem: the words of libyaml and of the Python parser
    ("", "tab character", _tab),
    ("quoted scalar", "unexpected", _unclosed_quote),
    ("quote", "", _escape),
    ("flow", "", _flow),
    ("", "cannot start any token", _bad_start),
    ("", "mapping values are not allowed", _colon),
    ("simple key", "':'", _no_colon),
    ("block mapping", "expected", _block),
    ("block collection", "expected", _block),
    ("block node", "expected", _no_value),
    ("", "sequence entries", _list_on_line),
    ("", "document start", _no_start),
    ("", "tag handle", _tag_handle),
    ("", "incompatible", _version),
)


def _last(lines: list[str]) -> Mark:
    """Return the last character of the text that is not white space."""
    number = max(number for number, line in enumerate(lines) if line.strip() or number == 0)
    return TextPosition(0, number, max(len(lines[number].rstrip()) - 1, 0))


def _after(mark: Mark, length: int) -> Mark:
    return TextPosition(mark.index + length, mark.line, mark.column + length)


def _at(
    mark: Mark, length: int, message: str, hint: str | None, *related: MarkedRange
) -> SourceError:
    return SourceError(SYNTAX, message, MarkedRange(mark, _after(mark, length)), hint, related)
