"""The YAML parser's complaints in words that say what to do, and where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from yaml import MarkedYAMLError

from mlctl.source.compose import Mark, MarkedRange, SourceError, TextPosition, inside
from mlctl.source.rules import SYNTAX


@dataclass(frozen=True, slots=True)
class _Trouble:
    """What the parser says: it began something at `start`, and met `problem` at `end`."""

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
    """What is wrong, from what libyaml (or its Python twin, whose words differ) says of it."""
    end = inside(error.problem_mark or error.context_mark or TextPosition(0, 0, 0), lines)
    start = inside(error.context_mark or end, lines)
    trouble = _Trouble(error.problem or "", start, end, lines)
    if trouble.here.startswith("\t"):
        return _tab(trouble)
    for context, problem, tell in _TELLERS:
        if context in (error.context or "") and problem in trouble.problem:
            return tell(trouble)
    return _at(end, 1, f"this is not YAML: {trouble.problem}", None)


def _tab(trouble: _Trouble) -> SourceError:
    if trouble.before.strip():
        return _at(trouble.end, 1, "a tab cannot stand here", "write a space instead")
    return _at(trouble.end, 1, "a tab is used for indentation", "indent with spaces")


def _unclosed_quote(trouble: _Trouble) -> SourceError:
    hint = f"close it with `{trouble.opener}`"
    return _at(trouble.start, 1, "this quote is never closed", hint)


def _escape(trouble: _Trouble) -> SourceError:
    line, column = trouble.lines[trouble.end.line], trouble.end.column
    column = max(
        line.rfind("\\", 0, column + 1), 0
    )  # the parsers point at different characters of it
    mark = TextPosition(trouble.end.index, trouble.end.line, column)
    words = f"`{line[column : column + 2]}` is no escape of double-quoted text"
    return _at(mark, 2, words, "double the backslash, or use single quotes")


def _flow(trouble: _Trouble) -> SourceError:
    opener, end = trouble.opener, trouble.end
    if opener not in ("[", "{") or trouble.start.index == end.index:
        if trouble.here:
            return _at(
                end, 1, f"a value is missing before this `{trouble.here[0]}`", "write the value"
            )
        hint = "close the bracket that is open"
        return _at(_last(trouble.lines), 1, "the text ends within brackets", hint)
    closer = "]" if opener == "[" else "}"
    if trouble.here and trouble.start.line == end.line:
        words = f"a `,` or `{closer}` is missing before this"
        around = MarkedRange(trouble.start, _after(trouble.start, 1), "of what begins here")
        return _at(end, 1, words, f"add `,` between two entries, or close with `{closer}`", around)
    around = MarkedRange(end, _after(end, 1), f"a `,` or `{closer}` was expected before this")
    return _at(
        trouble.start, 1, f"this `{opener}` is not closed", f"close it with `{closer}`", around
    )


def _bad_start(trouble: _Trouble) -> SourceError:
    odd = "a backtick" if trouble.here.startswith("`") else f"`{trouble.here[:1]}`"
    words = f"a plain value cannot begin with {odd}"
    return _at(trouble.end, 1, words, "put the value in quotes")


def _colon(trouble: _Trouble) -> SourceError:
    if ": " in trouble.before or trouble.before.startswith("---"):
        hint = "put the value in quotes if the `:` belongs to it; else begin a new line"
        return _at(trouble.end, 1, "a second `:` cannot stand on this line", hint)
    hint = "line the key up with its siblings; a `:` before it needs a space after it"
    return _at(trouble.end, 1, "a key cannot stand here", hint)


def _no_colon(trouble: _Trouble) -> SourceError:
    line = trouble.lines[trouble.start.line][trouble.start.column :].rstrip()
    return _at(trouble.start, len(line), "a key needs a `:` and a value", "write `key: value`")


def _block(trouble: _Trouble) -> SourceError:
    kind = "list" if trouble.opener == "-" else "mapping"
    first = f"line {trouble.start.line + 1}"
    around = MarkedRange(trouble.start, _after(trouble.start, 1), f"the {kind} begins here")
    if trouble.before.strip(" -"):
        hint = "put the whole value in quotes, or begin a new line"
        return _at(trouble.end, 1, "nothing can follow the value on its line", hint)
    if trouble.here.startswith(("}", "]")):
        return _at(trouble.end, 1, f"this `{trouble.here[0]}` closes nothing", "remove it", around)
    if trouble.here.startswith(":"):
        return _at(trouble.end, 1, "a key is missing before this `:`", "write the key")
    if trouble.end.column == trouble.start.column:
        odd = "a key cannot stand" if kind == "list" else "a list item cannot stand"
        only = "`-` items" if kind == "list" else "keys"
        hint = f"the {kind} of {first} has only {only} at this level"
        return _at(trouble.end, 1, f"{odd} in this {kind}", hint, around)
    hint = f"begin it in column {trouble.start.column + 1}, or line it up with what stands above it"
    return _at(trouble.end, 1, f"this does not line up with the {kind} of {first}", hint, around)


def _no_value(trouble: _Trouble) -> SourceError:
    words = (
        f"a value cannot begin with `{trouble.here[:1]}`" if trouble.here else "a value is missing"
    )
    return _at(trouble.end, 1, words, "put the value in quotes")


def _list_on_line(trouble: _Trouble) -> SourceError:
    words = "a list cannot begin on the line of its key"
    return _at(trouble.end, 1, words, "begin the list on a line of its own")


def _no_start(trouble: _Trouble) -> SourceError:
    words = "a new document has to begin with `---`"
    return _at(trouble.end, 1, words, "put `---` on a line of its own above it")


def _tag_handle(trouble: _Trouble) -> SourceError:
    return _at(trouble.end, 1, "the tag's prefix is not defined", "remove the tag")


def _version(trouble: _Trouble) -> SourceError:
    words = "only YAML 1 is read here"
    return _at(trouble.end, len(trouble.here), words, "remove this line")


_TELLERS: tuple[tuple[str, str, Callable[[_Trouble], SourceError]], ...] = (
    # what the parser was at, what it met: the words of libyaml and of the Python parser
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
    """The last character of the text that is not white space."""
    number = max(number for number, line in enumerate(lines) if line.strip() or number == 0)
    return TextPosition(0, number, max(len(lines[number].rstrip()) - 1, 0))


def _after(mark: Mark, length: int) -> Mark:
    return TextPosition(mark.index + length, mark.line, mark.column + length)


def _at(
    mark: Mark, length: int, message: str, hint: str | None, *related: MarkedRange
) -> SourceError:
    return SourceError(SYNTAX, message, MarkedRange(mark, _after(mark, length)), hint, related)
