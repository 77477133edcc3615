"""Generates `docs/rules.md`, the index of all rules, and a page a family under it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from mlctl.diagnostics import Rule

_HEAD = """\
# Rules

<!-- Made of the rules, tests/cases/rules and samples/rehearsal: `pytest --update-cases`. -->

Each finding of `mlctl validate`, `plan`, `apply` and `rehearse` has the code of its rule. Codes are
permanent and never reused. `mlctl explain CODE` prints the text on these pages.

An **error** stops the command before anything is written. A **warning** does not;
with `--strict`, warnings count as errors.

To waive a rule, write its code or name in a comment: at the end of the line that the finding
points to, on a separate line above it, or at the top of the file for the whole file.

```yaml
size: Standard_DS3_v2  # mlctl:ignore=MLC305
```

`--ignore CODE,...` waives rules for one run, and `--select CODE,...` checks only these rules. Both
also accept the beginning of a code (`MLC3`). MLC0xx errors, for unreadable files, cannot be waived.
"""
_ERRORS_HEAD = """\
## Find a rule by Azure's error message

`mlctl explain "TEXT"` accepts an error code or part of a message.

| error message | rule | name |
|---|---|---|"""
_FAMILIES = (  # the page, the beginnings of the codes that it has, its title
    ("text", ("MLC0",), "Text"),
    ("structure", ("MLC1",), "Structure"),
    ("references", ("MLC2",), "Names, references and paths"),
    ("clusters", ("MLC30", "MLC31"), "Clusters, and secrets in files"),
    ("deployments", ("MLC32", "MLC33"), "Endpoints and deployments"),
    ("jobs", ("MLC34",), "Jobs"),
    ("pipelines", ("MLC3",), "Pipelines, and other rules of meaning"),
    ("plan", ("MLC4", "MLC5"), "Plan and apply"),
    ("rehearsal", ("MLC6",), "Rehearsal"),
    ("policies", ("MLC7",), "Policies"),
)


@dataclass(frozen=True, slots=True)
class RuleExample:
    """A text that a rule finds something in, and what is printed then; empty: what it prints
    takes a rehearsal."""

    document: str
    printed: str = ""
    language: str = "yaml"


def pages(rules: Iterable[Rule], examples: Mapping[str, RuleExample]) -> dict[str, str]:
    """The pages as Markdown, by their path. `examples` is by code; a rule may have none."""
    ordered = sorted((rule.documented() for rule in rules), key=lambda rule: rule.code)
    index = "\n".join([_HEAD, *_index(ordered), _ERRORS_HEAD, *_errors(ordered), ""])
    return {"rules.md": index} | {
        f"rules/{slug}.md": "\n".join(
            [f"# {title}\n"]
            + [_section(rule, examples.get(rule.code)) for rule in ordered if _page(rule) == slug]
        )
        for slug, _, title in _FAMILIES
    }


def _page(rule: Rule) -> str:
    return next(
        slug for slug, beginnings, _ in _FAMILIES if rule.code.startswith(tuple(beginnings))
    )


def _link(rule: Rule) -> str:
    return f"[{rule.code}](rules/{_page(rule)}.md#{rule.code.lower()})"


def _index(rules: list[Rule]) -> Iterator[str]:
    rows = [
        f"| {_link(rule)} | {rule.name} | {rule.severity.value} |"
        f" {rule.summary.replace('|', chr(92) + '|')} |"
        for rule in rules
    ]
    yield "\n".join(["| code | name | severity | what it finds |", "|---|---|---|---|", *rows, ""])


def _errors(rules: list[Rule]) -> Iterator[str]:
    for rule in rules:
        for words in rule.azure:
            yield f"| {words.replace('|', chr(92) + '|')} | {_link(rule)} | {rule.name} |"


def _section(rule: Rule, example: RuleExample | None) -> str:
    parts = [
        f'## <a id="{rule.code.lower()}"></a>{rule.code} {rule.name}',
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
