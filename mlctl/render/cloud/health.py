"""The health checks of `mlctl doctor`: a line for each, or JSON."""

from __future__ import annotations

from collections.abc import Sequence

from mlctl.backends.ports.health import HealthCheck, HealthStatus
from mlctl.inert import as_json
from mlctl.pointer import Data
from mlctl.render.cloud.advice import advice
from mlctl.render.terminal.style import Style, Styler
from mlctl.render.terminal.terminal import clean
from mlctl.version import __version__

FORMAT_VERSION = "1.0"
_SIGNS = {
    HealthStatus.OK: ("✓", Style.GREEN),
    HealthStatus.INFO: ("i", Style.GRAY),
    HealthStatus.WARNING: ("!", Style.YELLOW),
    HealthStatus.FAILED: ("✗", Style.BOLD_RED),
    HealthStatus.SKIPPED: ("-", Style.GRAY),
}
_WIDTH = 12  # of the names


def line(check: HealthCheck, *, color: bool = False) -> str:
    """One check, and beneath it what to do."""
    sign, style = _SIGNS[check.status]
    styler = Styler(color)
    text = f"{styler.apply(sign, style)} {check.name:{_WIDTH}} {clean(check.found)}"
    told = what_to_do(check)
    return f"{text}\n  {'':{_WIDTH}} hint: {clean(told)}" if told else text


def summary(checks: Sequence[HealthCheck]) -> str:
    """The last line."""
    failed = sum(one.status is HealthStatus.FAILED for one in checks)
    warned = sum(one.status is HealthStatus.WARNING for one in checks)
    if not failed and not warned:
        return "Everything is in order."
    counts = ((failed, "thing is wrong", "things are wrong"), (warned, "warning", "warnings"))
    told = [f"{count} {one if count == 1 else many}" for count, one, many in counts if count]
    return ", ".join(told) + "."


def document(checks: Sequence[HealthCheck]) -> str:
    """All of it as JSON."""
    found = [
        {
            "name": one.name,
            "verdict": one.status.value,
            "found": one.found,
            "advice": what_to_do(one),
        }
        for one in checks
    ]
    healthy = all(one.status is not HealthStatus.FAILED for one in checks)
    told = {"format_version": FORMAT_VERSION, "healthy": healthy, "checks": found}
    return as_json(told, indent=2, ascii_only=False)


def report(answers: Sequence[Data]) -> str:
    """The forms of a service's answers as JSON."""
    told = {"format_version": FORMAT_VERSION, "mlctl": __version__, "answers": list(answers)}
    return as_json(told, indent=2, ascii_only=False)


def what_to_do(check: HealthCheck) -> str | None:
    """Its own advice, or that on the refusal behind it."""
    return check.advice or (advice(check.error) if check.error else None)
