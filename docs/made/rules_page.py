"""Generates `docs/rules.md`, the page of all rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from mlctl.diagnostics import Rule

_HEAD = """\
# Rules

<!-- Made of the rules, tests/cases/rules and samples/rehearsal: `pytest --update-cases`. -->

Each finding of `mlctl validate`, `plan`, `apply` and `rehearse` names its rule by a code. Codes are
permanent: one that is retired is never given to another rule. `mlctl explain CODE` prints what is
written here.

An **error** stops the command before anything is written. A **warning** is shown and passes; with
`--strict` it is an error.

To waive a rule, write its code or name in a comment: at the end of the line that the finding
points at, alone on the line above it, or at the head of the file for all of it.

```yaml
size: Standard_DS3_v2  # mlctl:ignore=MLC305
```

`--ignore CODE,...` waives rules for one run, and `--select CODE,...` keeps these only; both take
the beginning of a code too (`MLC3`). What cannot be read (MLC0xx errors) cannot be waived.
"""
_RANGES = (
    ("MLC0", "Text"),
    ("MLC1", "Structure"),
    ("MLC2", "Names, references and paths"),
    ("MLC3", "Meaning"),
    ("MLC4", "Plan"),
    ("MLC5", "Apply"),
    ("MLC6", "Rehearsal"),
    ("MLC7", "Policies"),
)


@dataclass(frozen=True, slots=True)
class RuleExample:
    """A text that a rule finds something in, and what is printed then; empty: what it prints
    takes a rehearsal."""

    document: str
    printed: str = ""
    language: str = "yaml"


def page(rules: Iterable[Rule], examples: Mapping[str, RuleExample]) -> str:
    """The page as Markdown. `examples` is by code; a rule may have none."""
    ordered = sorted((rule.documented() for rule in rules), key=lambda rule: rule.code)
    parts = [_HEAD, *_index(ordered)]
    for beginning, title in _RANGES:
        inside = [rule for rule in ordered if rule.code.startswith(beginning)]
        if inside:
            parts.append(f"## {title}\n")
        parts.extend(_section(rule, examples.get(rule.code)) for rule in inside)
    return "\n".join(parts)


def _index(rules: list[Rule]) -> Iterator[str]:
    rows = [
        f"| [{rule.code}](#{rule.code.lower()}) | {rule.name} | {rule.severity.value} |"
        f" {rule.summary.replace('|', chr(92) + '|')} |"
        for rule in rules
    ]
    yield "\n".join(["| code | name | severity | what it finds |", "|---|---|---|---|", *rows, ""])


def _section(rule: Rule, example: RuleExample | None) -> str:
    parts = [
        f'### <a id="{rule.code.lower()}"></a>{rule.code} {rule.name}',
        f"**{rule.severity.value}**: {rule.summary}.",
        rule.why,
        f"**What to do.** {rule.fix}",
    ]
    if example:
        parts.append(f"```{example.language}\n{example.document.rstrip()}\n```")
    if example and example.printed:
        parts.append(f"```text\n{example.printed.rstrip()}\n```")
    if rule.origin:
        parts.append(f"*Source: {rule.origin}.*")
    return "\n\n".join(parts) + "\n"
