"""The rule of what only a package index knows."""

from __future__ import annotations

from mlctl.diagnostics import Rule, Severity

UNRESOLVED = Rule("MLC339", "unresolved-packages", Severity.ERROR)
