"""A report as text: each finding with its lines, underlined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TypeAlias

from mlctl.dataclasses import dataclass
from mlctl.diagnostics import Diagnostic, Label, Report, Severity, Span
from mlctl.render.terminal.terminal import Style, Styler, cells, clean, width
from mlctl.schema.text import counted

_NEAR = 4  # lines between two labels that one snippet shows
_FAR = 1000  # characters of a line on either side of a label that are read
_MOST = 100  # findings of a file that are shown
_LEAST = 20  # columns of text that even a narrow terminal gets
_MORE = "…"


_Marked: TypeAlias = tuple[Label, Style]  # and how it is drawn


def report(findings: Report, *, color: bool = False, width: int = 100) -> str:
    """Render the findings, with blank lines between them; "" for an empty report.

    Of each file the first 100 are shown, errors before warnings, and the number of the others.
    """
    layout = _Layout(color, width)
    parts: list[str] = []
    for name, group in groupby(findings, _file):
        every = [(finding, findings.severity(finding)) for finding in group]
        worst = sorted(every, key=lambda pair: pair[1] is not Severity.ERROR)[:_MOST]
        parts += [layout.finding(*pair) for pair in every if len(every) <= _MOST or pair in worst]
        if unlisted := len(every) - len(worst):
            parts.append(f"{clean(name)}: {counted(unlisted, 'more finding')}, not shown\n")
    return "\n".join(parts)


def _file(finding: Diagnostic) -> str:
    return finding.primary.span.source.name if finding.primary else ""


_TONES = {
    Severity.ERROR: Style.BOLD_RED,
    Severity.WARNING: Style.BOLD_YELLOW,
    Severity.INFO: Style.BOLD_BLUE,
}


@dataclass(frozen=True, slots=True)
class _Layout:
    """How findings are drawn: whether in colour, and how wide."""

    color: bool
    width: int = 100

    def apply(self, text: str, style: Style) -> str:
        return Styler(self.color).apply(text, style)

    def finding(self, diagnostic: Diagnostic, severity: Severity) -> str:
        tone = _TONES[severity]
        head = self.apply(f"{severity.value}[{diagnostic.rule.code}]", tone)
        lines = [head + self.apply(f": {clean(diagnostic.message)}", Style.BOLD)]
        labels = [(diagnostic.primary, tone)] if diagnostic.primary else []
        labels += [(label, Style.BOLD_BLUE) for label in diagnostic.related]
        margin = len(str(max((label.span.line + 1 for label, _ in labels), default=0)))
        for number, group in enumerate(_groups(labels)):
            if number:
                lines.append(self._gutter(margin))
            lines += self._snippet(group, margin)
        if diagnostic.primary is None and diagnostic.address:
            lines.append(f"{self._equals(margin)} {self._note('resource', diagnostic.address)}")
        if diagnostic.hint:
            lines.append(f"{self._equals(margin)} {self._note('hint', diagnostic.hint)}")
        return "\n".join(lines) + "\n"

    def _snippet(self, labels: Sequence[_Marked], margin: int) -> Iterator[str]:
        first = labels[0][0].span
        place = f"{clean(first.source.name)}:{first.line + 1}:{first.column + 1}"
        yield f"{' ' * margin}{self.apply('-->', Style.BOLD_BLUE)} {place}"
        if len(labels) == 1 and not labels[0][0].text and _blank(first):
            return  # an empty file has nothing to show
        yield self._gutter(margin)
        previous: int | None = None
        for label, tone in sorted(labels, key=lambda marked: marked[0].span.line):
            line = label.span.line
            drawn = _Line.around(label, max(self.width - margin - 3, _LEAST))
            if previous is not None and line > previous + 1:
                yield self.apply("...", Style.BOLD_BLUE)
            if line != previous or drawn.cut:
                gutter = self.apply(f"{line + 1:>{margin}} |", Style.BOLD_BLUE)
                yield f"{gutter} {drawn.text}".rstrip()
            sign = "-" if tone is Style.BOLD_BLUE else "^"
            remark = f" {clean(label.text)}" if label.text else ""
            under = self.apply(sign * drawn.length + remark, tone)
            yield f"{self._gutter(margin)} {' ' * drawn.indent}{under}"
            previous = line

    def _gutter(self, margin: int) -> str:
        return f"{' ' * margin} {self.apply('|', Style.BOLD_BLUE)}"

    def _equals(self, margin: int) -> str:
        return f"{' ' * margin} {self.apply('=', Style.BOLD_BLUE)}"

    def _note(self, name: str, text: str) -> str:
        return f"{self.apply(name + ':', Style.BOLD_CYAN)} {clean(text)}"


@dataclass(frozen=True, slots=True)
class _Line:
    """The part of a line that fits, and the columns of it that are underlined."""

    text: str
    indent: int
    length: int
    cut: bool

    @classmethod
    def around(cls, label: Label, room: int) -> _Line:
        """Cut the line of `label` to `room` columns around it."""
        span = label.span
        whole = span.source.shown(span.line)
        begin = max(span.column - _FAR, 0)
        visible = cells(whole[begin : span.column + _FAR])
        end = span.end_column if span.end_line == span.line else len(whole)
        low, high = _window(visible, span.column - begin, end - begin, room)
        head = _MORE if begin + low > 0 else ""
        tail = _MORE if begin + high < len(whole) else ""
        text = head + "".join(glyph for glyph, _ in visible[low:high]) + tail
        indent = len(head) + width(visible[low : span.column - begin])
        length = width(visible[span.column - begin : min(end - begin, high)])
        return cls(text, indent, max(length, 1), bool(head or tail))


def _blank(span: Span) -> bool:
    lines = span.source.lines
    return span.line >= len(lines) or not lines[span.line].strip()


def _window(line: list[tuple[str, int]], start: int, end: int, room: int) -> tuple[int, int]:
    """Return the stretch of `shown` to print: all of it, or what fits around `start` to `end`."""
    if width(line) <= room:
        return 0, len(line)
    room -= 2 * len(_MORE)
    start = min(start, len(line))
    inside = line[start : start + _fitting(line[start:end], room)]
    high = start + len(inside)
    room -= width(inside)
    preceding = line[:start][::-1]
    kept_cells = preceding[: _fitting(preceding, room * 2 // 3)]
    following = line[high : high + _fitting(line[high:], room - width(kept_cells))]
    low = start - _fitting(preceding, room - width(following))
    return low, high + len(following)


def _fitting(line: Sequence[tuple[str, int]], room: int) -> int:
    """Count how many of `shown`, from the first, take at most `room` columns."""
    for count, (_, columns) in enumerate(line):
        room -= columns
        if room < 0:
            return count
    return len(line)


def _groups(labels: Sequence[_Marked]) -> list[list[_Marked]]:
    """Group labels that fit one snippet; the first of each group is the place shown."""
    groups: list[list[_Marked]] = []
    for marked in labels:
        span = marked[0].span
        for group in groups:
            anchor = group[0][0].span
            if anchor.source is span.source and abs(anchor.line - span.line) <= _NEAR:
                group.append(marked)
                break
        else:
            groups.append([marked])
    return groups
