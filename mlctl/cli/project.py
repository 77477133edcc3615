"""`mlctl.yml`: what a project says of all commands that run in its folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from mlctl import schema, source
from mlctl.diagnostics import Diagnostic, Report
from mlctl.kinds import KINDS
from mlctl.planning.ownership import Ownership, Protected
from mlctl.pointer import Data
from mlctl.schema.rules import VALUE_NOT_ALLOWED
from mlctl.schema.text import nearest
from mlctl.source import Document

_SCHEMA = "project"  # of schemas/, which describes each key


class ProjectError(Exception):
    """`mlctl.yml` cannot be used; `report` has the findings."""

    def __init__(self, report: Report) -> None:
        super().__init__(next(iter(report)).message)
        self.report = report


@dataclass(frozen=True, slots=True)
class Project:
    """What the file says, by its keys, and the file itself where there is one."""

    values: Mapping[str, Data] = field(default_factory=dict)
    document: Document | None = None

    @classmethod
    def read(cls, path: Path) -> Project:
        """The file's content; nothing where there is none.

        Raises:
            ProjectError: it cannot be read, or says what its schema does not know.
        """
        if not path.is_file():
            return cls()
        report = Report()
        documents = source.read(path, report)
        for document in documents:
            report.extend(schema.check(document, schema.load(_SCHEMA)))
        if documents and not report.failed:
            report.extend(_unknown_rules(documents[0]))
            report.extend(_unknown_kinds(documents[0]))
        if report.failed:
            raise ProjectError(report)
        return cls(documents[0].data, documents[0]) if documents else cls()

    def text(self, key: str) -> str | None:
        """A value that is text; None where the file does not say it."""
        value = self.values.get(key)
        return str(value) if value else None

    @property
    def ignore(self) -> frozenset[str]:
        """The codes and names of rules that no command checks."""
        return frozenset(self.values.get("ignore", ()))

    def ownership(self, *, tagged: bool = True) -> Ownership:
        """Whose what is made is, and what is protected; without tags unless it is `tagged`."""
        protected = (
            Protected(pattern, self.document.label(("protect", number)) if self.document else None)
            for number, pattern in enumerate(self.values.get("protect", ()))
        )
        tagged = tagged and self.values.get("tags") is not False
        return Ownership(self.text("project"), tagged, tuple(protected))


def unknown_rule(code: str) -> str | None:
    """What is wrong with a code, a name or the beginning of a code; None where a rule has it."""
    from mlctl.cli.rule_registry import ALL_RULES

    if any(rule.name == code or rule.code.startswith(code) for rule in ALL_RULES):
        return None
    near = nearest(code, [word for rule in ALL_RULES for word in (rule.code, rule.name)])
    return f"did you mean `{near}`?" if near else "docs/rules.md lists them"


def _unknown_rules(document: Document) -> Iterator[Diagnostic]:
    for number, code in enumerate(document.data.get("ignore", ())):
        hint = unknown_rule(code)
        if hint is not None:
            label = document.label(("ignore", number))
            yield Diagnostic(VALUE_NOT_ALLOWED, f"`{code}` is no rule", label, hint)


def _unknown_kinds(document: Document) -> Iterator[Diagnostic]:
    """Patterns of addresses that cover no kind: they would protect nothing."""
    for number, pattern in enumerate(document.data.get("protect", ())):
        kind = pattern.partition("/")[0].casefold()
        if "/" not in pattern or not any(fnmatchcase(name, kind) for name in KINDS):
            near = nearest(kind, KINDS)
            hint = (
                f"did you mean `{near}/*`?"
                if near
                else f"write KIND/NAME; kinds: {', '.join(KINDS)}"
            )
            message = f"`{pattern}` is no address, and no pattern of one"
            yield Diagnostic(VALUE_NOT_ALLOWED, message, document.label(("protect", number)), hint)
