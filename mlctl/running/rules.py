"""The rule whose findings only a package index can give."""

from __future__ import annotations

from mlctl.diagnostics import Rule, Severity

UNRESOLVED = Rule("MLC339", "unresolved-packages", Severity.ERROR)
