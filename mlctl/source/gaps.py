"""The text between YAML values: white space, comments, and indicators."""

from __future__ import annotations

import re

from mlctl.dataclasses import dataclass

_GAP = re.compile(r"(?:[ \t\n]+|#[^\n]*)*")
_INLINE = re.compile(r"[ \t]*(#[^\n]*)?(?=\n|\Z)")
_BLANKS = re.compile(r"[ \t]*")
_PROPERTIES = re.compile(r"[&!]\S*(?:[ \t]+[&!]\S*)*")


class OddLayout(Exception):
    """A text has something that cannot be formatted safely: what, and its line (from 0)."""

    def __init__(self, why: str, line: int) -> None:
        super().__init__(why)
        self.why = why
        self.line = line


@dataclass(slots=True)
class Gaps:
    """Goes through `text` from the beginning to the end; `at` is the position."""

    text: str
    at: int = 0

    @property
    def column(self) -> int:
        """The column of the position."""
        return self._column(self.at)

    @property
    def at_line_end(self) -> bool:
        """Whether a line, or the text, ends here."""
        return self.at >= len(self.text) or self.text[self.at] == "\n"

    def odd(self, why: str) -> OddLayout:
        """Build the error that the text cannot be formatted, and why."""
        return OddLayout(why, self.text.count("\n", 0, self.at))

    def take_until(self, end: int) -> str:
        """Return the text up to `end`."""
        taken, self.at = self.text[self.at : end], end
        return taken

    def take(self, indicator: str) -> None:
        """Skip an indicator (`:`, `-`, `---`) and blanks before it.

        Raises:
            OddLayout: something else is here.
        """
        begun = _BLANKS.match(self.text, self.at)
        at = begun.end() if begun else self.at
        if not self.text.startswith(indicator, at):
            raise self.odd(f"a `{indicator}` is not where it usually is")
        self.at = at + len(indicator)

    def inline(self) -> str:
        """Return the comment on the rest of the line; "" if there is none, or a value."""
        match = _INLINE.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return (match[1] or "").rstrip()

    def above(self, end: int | None) -> list[str]:
        """Return comments and empty lines ("") up to `end`, or up to the next token.

        Raises:
            OddLayout: something else is there.
        """
        stop = self._next()
        if end is not None and stop < end:
            raise self.odd("a value is written in an unusual way")
        end = stop if end is None else end
        begun = self.at > 0  # on a line that is not to be formatted
        lines = self.take_until(end).split("\n")
        return [line.strip(" \t") for line in lines[begun:-1]]

    def tail(self, column: int) -> list[str]:
        """Return the comments below a block that ends, if indented by at least `column`."""
        stop = self._next()
        lines: list[str] = []
        begin = end = (self.text.find("\n", self.at, stop) + 1 or stop) if self.at else 0
        count = 0
        while begin < stop:
            line_end = self.text.find("\n", begin, stop)
            if line_end < 0:
                line_end = stop
            line = self.text[begin:line_end].expandtabs()
            text = line.strip()
            indent = len(line) - len(line.lstrip(" "))
            if text and indent < column:
                break
            lines.append(text)
            if text:
                count, end = len(lines), line_end
            begin = line_end + 1
        if count:
            self.at = end
        return lines[:count]

    def properties(self, start: int) -> str:
        """Return the anchor and the tag of a block, which begin at `start`.

        Raises:
            OddLayout: they are on their own lines.
        """
        blanks = _BLANKS.match(self.text, self.at)
        match = _PROPERTIES.match(self.text, start)
        if match is None or blanks is None or blanks.end() != start:
            raise self.odd("an anchor or a tag is on a separate line")
        self.at = match.end()
        return " ".join(match[0].split())

    def finish(self) -> None:
        """Skip the rest; raises OddLayout if it is more than white space."""
        if self._next() < len(self.text) or self.text[self.at :].strip():
            raise self.odd("something follows the last document")

    def _next(self) -> int:
        match = _GAP.match(self.text, self.at)
        return match.end() if match else self.at

    def _column(self, at: int) -> int:
        return at - (self.text.rfind("\n", 0, at) + 1)
