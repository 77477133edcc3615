"""The health checks of `mlctl doctor`, one line each or as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from mlctl.backends.ports.monitor import HealthCheck, HealthStatus
from mlctl.inert import as_json
from mlctl.pointer import Data
from mlctl.render.cloud.advice import advice
from mlctl.render.terminal.terminal import Style, Styler, clean
from mlctl.schema.text import counted
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
    """Describe a check, and below it what to do."""
    sign, style = _SIGNS[check.status]
    styler = Styler(color)
    text = f"{styler.apply(sign, style)} {check.name:{_WIDTH}} {clean(check.found)}"
    advice_text = what_to_do(check)
    return f"{text}\n  {'':{_WIDTH}} hint: {clean(advice_text)}" if advice_text else text


def summary(checks: Sequence[HealthCheck]) -> str:
    """Return the last line."""
    failed = sum(check.status is HealthStatus.FAILED for check in checks)
    warned = sum(check.status is HealthStatus.WARNING for check in checks)
    if not failed and not warned:
        return "Everything is in order."
    counts = ((failed, "check failed", "checks failed"), (warned, "warning", "warnings"))
    parts = [counted(count, singular, plural) for count, singular, plural in counts if count]
    return ", ".join(parts) + "."


def document(checks: Sequence[HealthCheck]) -> str:
    """Return all checks as JSON."""
    documents = [
        {
            "name": check.name,
            "verdict": check.status.value,
            "found": check.found,
            "advice": what_to_do(check),
        }
        for check in checks
    ]
    healthy = all(check.status is not HealthStatus.FAILED for check in checks)
    contents = {"format_version": FORMAT_VERSION, "healthy": healthy, "checks": documents}
    return as_json(contents, indent=2, ascii_only=False)


def report(answers: Sequence[Data]) -> str:
    """Return the shapes of a service's answers as JSON."""
    contents = {"format_version": FORMAT_VERSION, "mlctl": __version__, "answers": list(answers)}
    return as_json(contents, indent=2, ascii_only=False)


def what_to_do(check: HealthCheck) -> str | None:
    """Return the check's own advice, or that for the error behind it."""
    return check.advice or (advice(check.error) if check.error else None)
