"""Where the engine may be left out, because a shortcut gives the same history."""

from __future__ import annotations

from mlctl.forecast.history import EngineCloud as SkipCloud
from mlctl.forecast.scenario import Scenario

__all__ = ["SkipCloud", "obstacle"]


def obstacle(_scenario: Scenario) -> str | None:
    """Why a scenario has no shortcut; None where it has one."""
    return "there is no shortcut yet"
