"""Findings and the positions that they refer to, as plain values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from mlctl import masking
from mlctl.dataclasses import dataclass, field, replace


class Severity(Enum):
    """The severity of a finding: errors stop the command; information never does."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Rule:
    """A permanent code and its documentation, which `docs/rules.md` and `mlctl explain` print.

    `summary` is the same for all findings. `why` and `fix` are Markdown paragraphs; `origin` names
    the document that the rule comes from, `azure` codes and words of the error that Azure gives for
    the same cause. A retired code is never reused.
    Ranges: 0xx text, 1xx structure, 2xx references, 3xx meaning, 4xx plan, 5xx apply,
    6xx rehearsal, 7xx policies. What breaks a project's policy goes by that one's name.
    The prose of mlctl's own rules is in `rules.toml`: see `documented`.
    """

    code: str
    name: str
    severity: Severity
    summary: str = ""
    why: str = ""
    fix: str = ""
    origin: str = ""
    azure: Sequence[str] = ()

    def documented(self) -> Rule:
        """Return the rule with its prose, which is only read for printing."""
        return self if self.summary else replace(self, **_prose().get(self.code, {}))


@cache
def _prose() -> dict[str, dict[str, Any]]:
    import tomllib  # noqa: PLC0415 - few commands print prose

    return tomllib.loads(Path(__file__).with_name("rules.toml").read_text(encoding="utf-8"))


# A key that ends like the name of a secret, and its value: of a flow mapping, or to the line's end.
_HIDDEN = (  # compiled where a line is shown
    r"(?:pass?w(?:or[dt]|d)|passphrase|secret|token|(?:access|account|api)_?key|(?-i:_KEY))[\"']?\s*:\s+"
    r"(?P<value>\"(?:[^\"\\]|\\.)*\"?|'[^']*'?|[^\s,\]}][^,\]}]*)"
)
_LONG = 240  # characters of a finding
_QUOTED = re.compile(r"(`[^`]{200})[^`]+(?=`)")  # what is longer is cut
_SHORT = 4  # characters; a shorter text is hidden where it stands, but not wherever it occurs
_WAIVER = re.compile(r"(?:^|\s)#\s*mlctl:ignore=([\w.,-]+)")


@dataclass(eq=False)
class SourceText:
    """One text and the name to call it by (a path as the user gave it, or `<stdin>`).

    `secrets` are parts of the text that no output may show, `unfilled` the lines with an expression
    that has no value: it is what is wrong there.
    """

    name: str
    text: str
    secrets: frozenset[str] = frozenset()
    unfilled: frozenset[int] = frozenset()
    _shown: dict[int, str] = field(default_factory=dict, repr=False)  # line -> as it was shown

    def __eq__(self, other: object) -> bool:
        """A file that is read twice (by itself, and named by another) is one text."""
        if not isinstance(other, SourceText):
            return NotImplemented
        return self is other or (self.name, self.text) == (other.name, other.text)

    def __hash__(self) -> int:
        return hash((self.name, self.text))

    @cached_property
    def lines(self) -> list[str]:
        """Return the lines without their ends; only YAML's breaks count, as in the parser."""
        return re.split(r"\r\n|[\n\r\x85\u2028\u2029]", self.text)

    @cached_property
    def may_hold_secrets(self) -> bool:
        """Whether there may be a secret among the values of the text."""
        return masking.may_hold_secrets(self.text)

    def shown(self, line: int) -> str:
        """Return a line as snippets print it: secrets masked; empty beyond the last line.

        What stands behind a key that looks like a secret's is hidden too: the key may be misspelt,
        or the text too broken to know.
        """
        if line >= len(self.lines):
            return ""
        if line not in self._shown:
            text = re.sub(_HIDDEN, _hidden, self.lines[line], flags=re.IGNORECASE)
            for secret in set(masking.text_secrets(text)):
                text = text.replace(secret, "*" * len(secret))
            self._shown[line] = self.masked(text)
        return self._shown[line]

    def masked(self, text: str) -> str:
        """Mask the secrets of this source in `text` by asterisks of their length."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            if len(secret) >= _SHORT:
                text = text.replace(secret, "*" * len(secret))
        return text

    def waives(self, rule: Rule, line: int) -> bool:
        """Whether `# mlctl:ignore=CODE` on `line`, alone above it or at the head, waives `rule`."""
        waived = self._waivers
        return bool(waived) and any(
            rule.code in codes or rule.name in codes
            for codes in (waived.get(-1, frozenset()), waived.get(line, frozenset()))
        )

    @cached_property
    def _waivers(self) -> dict[int, frozenset[str]]:
        """Return the codes waived by zero-based line; -1 is the whole file."""
        waivers: dict[int, frozenset[str]] = {}
        if "mlctl:ignore=" not in self.text:
            return waivers
        in_head = True
        for number, line in enumerate(self.lines):
            bare = line.strip()
            alone = bare.startswith("#")
            match = _WAIVER.search(line)
            if match:
                at = -1 if in_head and alone else number + 1 if alone else number
                waivers[at] = waivers.get(at, frozenset()) | frozenset(match[1].split(","))
            in_head = in_head and (alone or not bare or bare == "---" or bare.startswith("%"))
        return waivers


def _hidden(match: re.Match[str]) -> str:
    value = match["value"]
    return match[0].removesuffix(value) + "*" * len(value)


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of a source: zero-based lines, zero-based columns in code points."""

    source: SourceText
    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def text(self) -> str:
        """The text in the range."""
        lines = self.source.lines[self.line : self.end_line + 1]
        if not lines:
            return ""
        lines[-1] = lines[-1][: self.end_column]
        return "\n".join([lines[0][self.column :], *lines[1:]])


@dataclass(frozen=True, slots=True)
class Label:
    """A position and a remark on it."""

    span: Span
    text: str = ""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: the rule, a message of one sentence, the position, and a hint what to do.

    `primary` is None if there is no text to point at (a missing file, a live resource). `address`
    is that of the resource concerned, as text, if known. `severity` is the rule's unless given.
    `accepted`: the service has been seen to accept it all the same. `preview`: it is of a private
    preview, which az and the SDK refuse.
    """

    rule: Rule
    message: str
    primary: Label | None
    hint: str | None = None
    related: tuple[Label, ...] = ()
    address: str | None = None
    severity: Severity | None = None
    accepted: bool = False
    preview: bool = False

    @property
    def is_error(self) -> bool:
        """Whether it stops the command."""
        return (self.severity or self.rule.severity) is Severity.ERROR


def _order(finding: Diagnostic) -> tuple[str, int, int, str, str]:
    if finding.primary is None:
        return ("", 0, 0, finding.rule.code, finding.message)
    span = finding.primary.span
    return (span.source.name, span.line, span.column, finding.rule.code, finding.message)


@dataclass(slots=True)
class Report:
    """Collects findings, except those that are waived.

    `ignore` and `select` hold codes or names of rules, or prefixes of codes (`MLC3`). Waivers in
    the source are applied here too. Where `lenient`, what the service has been seen to accept is a
    warning; where `previews` are taken, so is what is of one.
    """

    ignore: frozenset[str] = frozenset()
    select: frozenset[str] = frozenset()
    strict: bool = False
    lenient: bool = False
    previews: bool = False
    _findings: dict[Diagnostic, None] = field(default_factory=dict)

    def add(self, *diagnostics: Diagnostic) -> None:
        """Add the findings that are not waived; equal ones count once."""
        for finding in diagnostics:
            if not self._waived(finding):
                self._findings[finding] = None

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Like `add`, for an iterable."""
        self.add(*diagnostics)

    def __iter__(self) -> Iterator[Diagnostic]:
        """The findings by file, line and column, shortened and without the secrets of sources."""
        return (_brief(_masked(finding)) for finding in sorted(self._findings, key=_order))

    def __len__(self) -> int:
        return len(self._findings)

    def information(self) -> Iterator[str]:
        """Return a line for each finding of information: its place and message."""
        for finding in self._findings:
            if (finding.severity or finding.rule.severity) is Severity.INFO:
                span = finding.primary and finding.primary.span
                place = f"{span.source.name}:{span.line + 1}:{span.column + 1}: " if span else ""
                yield f"{place}{_brief(_masked(finding)).message} ({finding.rule.code})"

    @property
    def errors(self) -> int:
        """Count the errors; under `strict` every warning is one."""
        return sum(self.severity(finding) is Severity.ERROR for finding in self._findings)

    @property
    def warnings(self) -> int:
        """How many findings are warnings."""
        return sum(self.severity(finding) is Severity.WARNING for finding in self._findings)

    @property
    def failed(self) -> bool:
        """Whether there is an error; under `strict`, or a warning."""
        return any(self.severity(finding) is Severity.ERROR for finding in self._findings)

    def files_with_errors(self) -> frozenset[str]:
        """Return the names of the files with errors."""
        return frozenset(
            finding.primary.span.source.name
            for finding in self._findings
            if finding.primary and self.severity(finding) is Severity.ERROR
        )

    def clear(self) -> None:
        """Forget all findings: the files are read again."""
        self._findings.clear()

    def severity(self, finding: Diagnostic) -> Severity:
        """Return a finding's severity here: its own, or for a warning under `strict` error."""
        if (finding.severity or finding.rule.severity) is Severity.INFO:
            return Severity.INFO
        passes = (self.lenient and finding.accepted) or (self.previews and finding.preview)
        is_error = finding.is_error and not passes
        return Severity.ERROR if self.strict or is_error else Severity.WARNING

    def _waived(self, finding: Diagnostic) -> bool:
        rule = finding.rule
        if rule.code.startswith("MLC0") and rule.severity is Severity.ERROR:
            return False  # text that cannot be read is never waived
        if _named(rule, self.ignore) or (self.select and not _named(rule, self.select)):
            return True
        if finding.primary is None:
            return False
        span = finding.primary.span
        if span.line in span.source.unfilled and rule.name != "unset-variable":
            return True
        return span.source.waives(rule, span.line)


def _masked(finding: Diagnostic) -> Diagnostic:
    source = finding.primary.span.source if finding.primary else None
    if source is None or not source.secrets:
        return finding
    hint = source.masked(finding.hint) if finding.hint else None
    return replace(finding, message=source.masked(finding.message), hint=hint)


def _brief(finding: Diagnostic) -> Diagnostic:
    """Shorten every quoted text of the user's in a finding."""
    if len(finding.message) + len(finding.hint or "") <= _LONG:
        return finding
    hint = _QUOTED.sub(r"\1…", finding.hint) if finding.hint else None
    return replace(finding, message=_QUOTED.sub(r"\1…", finding.message), hint=hint)


def _named(rule: Rule, names: frozenset[str]) -> bool:
    return any(name and (rule.name == name or rule.code.startswith(name)) for name in names)
