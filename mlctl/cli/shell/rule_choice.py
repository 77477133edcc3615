"""The flags that select rules, and the report for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from mlctl.cli.parser.arguments import InvalidValue
from mlctl.cli.parser.declare import flag
from mlctl.cli.shell.command import option
from mlctl.cli.shell.session import Session
from mlctl.dataclasses import dataclass
from mlctl.diagnostics import Report

Select = Annotated[list[str] | None, flag("--select", metavar="CODE")]
Ignore = Annotated[list[str] | None, flag("--ignore", metavar="CODE")]
Strict = Annotated[bool, flag("--strict")]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleArgs:
    """Which rules are checked, and which of them fail."""

    ignore: Ignore = None
    select: Select = None
    strict: Strict = False

    def report(self, session: Session) -> Report:
        """Return a report for these rules."""
        return new_report(session, self.ignore, self.select, strict=self.strict)


IGNORE = option("ignore", type_=list[str] | None, metavar="CODE")


def new_report(
    session: Session,
    ignore: Sequence[str] | None = None,
    select: Sequence[str] | None = None,
    *,
    strict: bool = False,
) -> Report:
    """Return a report for the flags' values, each a list of codes separated by commas.

    What `mlctl.yml` ignores is left out, too.
    """
    out = ignored(session, ignore)
    return Report(out, _codes(session, "--select", select), strict, session.as_az)


def ignored(session: Session, ignore: Sequence[str] | None) -> frozenset[str]:
    """Return the rules that flags and `mlctl.yml` leave out."""
    return _codes(session, "--ignore", ignore) | session.settings.project.ignore


def _codes(session: Session, flag: str, texts: Sequence[str] | None) -> frozenset[str]:
    codes = frozenset(code for text in texts or [] for code in text.split(",") if code)
    if not codes:
        return codes
    from mlctl.project.rules import unknown_rule

    policies = session.policies
    own_names = {policy.name for policy in policies.known}
    own_names |= {word for rule in policies.rules for word in (rule.code, rule.name)}
    for code in sorted(codes - own_names):
        hint = unknown_rule(code)
        if hint is not None:
            raise InvalidValue(f"`{code}` is not a rule: {hint}", flag=flag)
    return codes
