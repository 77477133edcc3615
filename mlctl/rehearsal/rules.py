"""The rules of rehearsals, MLC6xx: what running the user's code under losses can show."""

from __future__ import annotations

from mlctl.diagnostics import Rule, Severity

INPUT_LOST = Rule("MLC601", "input-lost", Severity.ERROR)
INPUT_DOUBLED = Rule("MLC602", "input-doubled", Severity.ERROR)
APPENDED_ROWS = Rule("MLC603", "appended-rows", Severity.ERROR)
LEFT_BEHIND = Rule("MLC604", "left-behind", Severity.ERROR)
HALF_WRITTEN = Rule("MLC605", "half-written", Severity.ERROR)
SHARED_NAME = Rule("MLC606", "shared-name", Severity.ERROR)
STATEFUL = Rule("MLC607", "depends-on-state", Severity.ERROR)
COMPOSED = Rule("MLC608", "depends-on-mini-batch", Severity.ERROR)
CHANCE = Rule("MLC609", "depends-on-chance", Severity.WARNING)
SHORT_RESULT = Rule("MLC610", "short-result", Severity.ERROR)
SWALLOWED = Rule("MLC611", "swallowed-exception", Severity.WARNING)
SLOW_INIT = Rule("MLC612", "slow-init", Severity.WARNING)
SLOW_RUN = Rule("MLC613", "slow-run", Severity.ERROR)
OUTSIDE = Rule("MLC614", "written-outside", Severity.WARNING)
LEFT_LOCK = Rule("MLC615", "left-lock", Severity.ERROR)
GROWING = Rule("MLC616", "growing-memory", Severity.WARNING)
FAILING = Rule("MLC617", "failing-mini-batch", Severity.ERROR)
EATS_INPUT = Rule("MLC618", "changed-input", Severity.ERROR)

FROM_ZERO = Rule("MLC651", "starts-over", Severity.ERROR)
HALF_CHECKPOINT = Rule("MLC652", "half-checkpoint", Severity.ERROR)
STATE_ELSEWHERE = Rule("MLC653", "state-outside-outputs", Severity.ERROR)
METRIC_STEPS = Rule("MLC654", "metric-steps", Severity.WARNING)
RESTART_FAILS = Rule("MLC657", "fails-to-restart", Severity.ERROR)
OTHER_MODEL = Rule("MLC655", "other-model", Severity.ERROR)
RARE_CHECKPOINTS = Rule("MLC656", "rare-checkpoints", Severity.WARNING)

REHEARSAL_RULES = tuple(value for value in dict(globals()).values() if isinstance(value, Rule))
