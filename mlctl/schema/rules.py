"""The rules that the schemas check (MLC1xx)."""

from __future__ import annotations

from mlctl.diagnostics import Rule, Severity

UNKNOWN_FIELD = Rule("MLC101", "unknown-field", Severity.ERROR)
MISSING_FIELD = Rule("MLC102", "missing-field", Severity.ERROR)
WRONG_TYPE = Rule("MLC103", "wrong-type", Severity.ERROR)
VALUE_NOT_ALLOWED = Rule("MLC104", "value-not-allowed", Severity.ERROR)
OUT_OF_BOUNDS = Rule("MLC105", "out-of-bounds", Severity.ERROR)
BAD_NAME = Rule("MLC106", "bad-name", Severity.ERROR)
BAD_REFERENCE = Rule("MLC107", "bad-reference", Severity.ERROR)
EMPTY_VALUE = Rule("MLC108", "empty-value", Severity.ERROR)
WRONG_FORM = Rule("MLC109", "wrong-form", Severity.ERROR)
EXCLUDING_FIELDS = Rule("MLC110", "excluding-fields", Severity.ERROR)
READ_OTHERWISE = Rule("MLC111", "value-read-otherwise", Severity.WARNING)
NOT_AS_THE_SCHEMA = Rule("MLC199", "not-as-the-schema", Severity.ERROR)

SCHEMA_RULES = tuple(value for value in dict(globals()).values() if isinstance(value, Rule))


def is_preview(hint: str) -> bool:
    """Whether a hint says that a value belongs to a private preview, which the service knows."""
    return hint.startswith("a private preview of the service")
