"""All rules, sorted by code: for `explain`, `--ignore`, `--select` and docs/rules.md."""

from __future__ import annotations

from mlctl.assets.local_files import UNREADABLE
from mlctl.assets.private import PRIVATE
from mlctl.config import rules
from mlctl.config.document_kinds import OTHER_KIND, UNKNOWN_KIND
from mlctl.config.named_files import SECOND_DOCUMENT
from mlctl.config.overlays import UNKNOWN_OVERLAY
from mlctl.config.variables import UNSET_VARIABLE
from mlctl.diagnostics import Rule, Severity
from mlctl.planning.blue_green.renaming import NO_SUCCESSOR
from mlctl.planning.preflight.checks import PLAN_RULES
from mlctl.policies.policy import POLICY_RULES
from mlctl.project.plugins import PLUGIN_RULES
from mlctl.rehearsal.rules import REHEARSAL_RULES
from mlctl.running.rules import UNRESOLVED
from mlctl.schema.rules import SCHEMA_RULES
from mlctl.schema.text import nearest
from mlctl.source.rules import SOURCE_RULES

RETIREMENT = Rule("MLC361", "retirement", Severity.WARNING)  # only of `mlctl retirements`
_LOAD_RULES = (UNKNOWN_KIND, OTHER_KIND, UNSET_VARIABLE, UNKNOWN_OVERLAY, SECOND_DOCUMENT)
ALL_RULES: tuple[Rule, ...] = tuple(
    sorted(
        (
            *SOURCE_RULES,
            *SCHEMA_RULES,
            *_LOAD_RULES,
            *rules.rules(),
            UNREADABLE,
            PRIVATE,
            RETIREMENT,
            UNRESOLVED,
            NO_SUCCESSOR,
            *PLAN_RULES,
            *REHEARSAL_RULES,
            *POLICY_RULES,
            *PLUGIN_RULES,
        ),
        key=lambda rule: rule.code,
    )
)


def unknown_rule(code: str) -> str | None:
    """Explain what is wrong with a code, name or prefix; None if it matches a rule."""
    if any(rule.name == code or rule.code.startswith(code) for rule in ALL_RULES):
        return None
    near = nearest(code, [word for rule in ALL_RULES for word in (rule.code, rule.name)])
    return f"did you mean `{near}`?" if near else "docs/rules.md lists them"
