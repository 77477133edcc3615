"""MLflow's search of runs: its filters, which only `and` connects, and orders."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

from mlctl.emulator.mlflow.runs import TrackedRun
from mlctl.service_errors import Permanent

Test = Callable[[TrackedRun], bool]
_AND = re.compile(r"\s+and\s+(?=(?:[^'\"]*['\"][^'\"]*['\"])*[^'\"]*$)", re.IGNORECASE)
_MOST = 6000  # characters of a filter: `_AND` looks at the rest for each of them
_FIELD = r"(?:(?P<part>\w+)\.)?(?P<key>`[^`]+`|\"[^\"]+\"|[\w./-]+)"
_CONDITION = re.compile(
    rf"\s*{_FIELD}\s*(?P<sign>!=|>=|<=|=|>|<|i?like\b)\s*(?P<value>.+?)\s*", re.IGNORECASE
)
_ORDER = re.compile(rf"\s*{_FIELD}(?:\s+(?P<way>asc|desc))?\s*", re.IGNORECASE)
_SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
    "like": lambda text, form: _like(text, form, 0),
    "ilike": lambda text, form: _like(text, form, re.IGNORECASE),
}


def matching(text: str) -> Test:
    """Parse a filter into a test: `metrics.loss < 0.5 and params.rate = '0.1'`.

    Raises:
        Permanent: it is no filter.
    """
    if len(text) > _MOST:
        raise _bad("filter", f"{text[:40]}...")
    tests = [_test(part) for part in _AND.split(text.strip())] if text.strip() else []
    return lambda run: all(test(run) for test in tests)


def ordered(runs: Sequence[TrackedRun], order: Sequence[str]) -> list[TrackedRun]:
    """Sort runs by an order such as `["metrics.loss DESC"]`; those that lack it come last.

    Raises:
        Permanent: it is no order.
    """
    result = sorted(runs, key=lambda run: (-int(run.info.get("start_time") or 0), run.id))
    for text in reversed(order):
        match = _ORDER.fullmatch(text)
        if match is None:
            raise _bad("order", text)
        part, key, down = match["part"] or "", match["key"], (match["way"] or "").lower() == "desc"
        values = [(_value(run, part, key), run) for run in result]
        lacking = [run for value, run in values if value is None]
        pairs: list[tuple[Any, TrackedRun]] = [pair for pair in values if pair[0] is not None]
        pairs.sort(key=lambda pair: pair[0], reverse=down)
        result = [run for _, run in pairs] + lacking
    return result


def _test(text: str) -> Test:
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise _bad("filter", text)
    compare, value, key = _SIGNS[match["sign"].lower()], match["value"], match["key"]
    part = (match["part"] or "attributes").lower()
    expected: str | float = value.strip("'\"")
    if value[0] not in "'\"":
        try:
            expected = float(value)
        except ValueError:
            raise _bad("filter", text) from None

    def test(run: TrackedRun) -> bool:
        actual = _value(run, part, key)
        return type(actual) is type(expected) and compare(actual, expected)

    return test


def _value(run: TrackedRun, part: str, key: str) -> str | float | None:
    """Return a run's value for a name: a number or a text."""
    key = key.strip('`"')
    match part.lower().rstrip("s"):
        case "metric":
            metric = run.last.get(key)
            return None if metric is None else metric.value
        case "param" | "parameter":
            return run.params.get(key)
        case "tag":
            return run.tags.get(key)
        case _:
            value = run.info.get({"created": "start_time", "Created": "start_time"}.get(key, key))
            return float(value) if isinstance(value, int) else value


def _like(text: str, form: str, flags: int) -> bool:
    """Whether a text is of a form with `%` (any text) and `_` (any character), in linear time."""
    first, *parts = (re.escape(part).replace("_", ".") for part in form.split("%"))
    ends = f".*{parts.pop()}" if parts else ""
    pattern = first + "".join(f"(?>.*?{part})" for part in parts) + ends  # as fnmatch does
    return re.fullmatch(pattern, text, flags | re.DOTALL) is not None


def _bad(what: str, text: str) -> Permanent:
    example = "metrics.loss < 0.5 and params.rate = '0.1'" if what == "filter" else "metrics.a DESC"
    return Permanent("INVALID_PARAMETER_VALUE", f"`{text}` is no {what} such as `{example}`.")
