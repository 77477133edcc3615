"""Parse traces, scripts and service times."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import compress
from typing import Any

from mlctl.dataclasses import replace
from mlctl.simulator.engine import rng
from mlctl.simulator.engine.commands import EngineError
from mlctl.simulator.engine.model import HOUR
from mlctl.simulator.engine.processes import (
    ALL,
    CapacitySteps,
    LossScript,
    OnOff,
    Trace,
    exponential,
)

_TRACE = 'a trace is {"metadata": {"gap_seconds": 300}, "data": [nodes available, ...]}'
_SCRIPT = 'a script is [[seconds, node number or "all"], ...]'
_STEPS = "a capacity script is [[seconds, nodes available], ...]"
_AGES = 1e12
_TIMES = "service times are [seconds, ...]"


def trace(text: str, offset: int = 0) -> Trace:
    """Parse a capacity trace in the format of skypilot-org/spot-traces.

    Raises:
        EngineError: the text has another format; the message shows the right one.
    """
    match _json(text, _TRACE):
        case {"metadata": {"gap_seconds": gap}, "data": [_, *_] as nodes}:
            if _is_time(gap) and gap > 0:
                for number, count in enumerate(nodes, 1):
                    if not _is_count(count):
                        problem = f"the trace has no number of nodes at point {number}"
                        raise EngineError(f"{problem}, `{json.dumps(count)}`: {_TRACE}")
                return Trace(float(gap), tuple(nodes), offset)
        case _:
            pass
    raise EngineError(f"the file is not a trace: {_TRACE}")


def begin(process: Trace | OnOff, seed: str, *, available: bool) -> Trace | OnOff:
    """Start a process at a moment that the seed chooses: any, or one with nodes (`available`).

    If there is an outage at that moment, its remaining time is more likely that of a long one (the
    residual of a renewal process).

    Raises:
        EngineError: it must have nodes, but the trace never has any.
    """
    u = rng.uniform(f"{seed}/trace-start")
    if isinstance(process, OnOff):
        share = 1 - 1 / (1 + process.rate * process.mean_outage_s / HOUR)
        if process.by_hour is not None:
            share = 1 - 1 / (1 + sum(process.by_hour.factors) / 24 * share / (1 - share))
        return (
            process if available or u >= share else replace(process, out_s=_left_s(process, seed))
        )
    everywhere = range(len(process.nodes))
    places = list(compress(everywhere, process.nodes)) if available else everywhere
    if not places:
        raise EngineError("the trace never has nodes, so it cannot begin with some")
    return replace(process, offset=places[int(u * len(places))])


def _left_s(process: OnOff, seed: str) -> float:
    """Sample the remaining seconds of an outage that is observed at random."""
    u = rng.uniform(f"{seed}/outage-left")
    if process.cv is None:
        return exponential(HOUR / process.mean_outage_s, u)
    mean_s = process.mean_outage_s * (1 + process.cv**2)  # of lengths weighted by themselves
    return u * rng.log_normal(mean_s, process.cv, f"{seed}/outage-start")


def script(text: str) -> LossScript:
    """Parse preemptions at given seconds.

    Raises:
        EngineError: the text has another format; the message shows the right one.
    """
    pairs = tuple(_pairs(text, _SCRIPT))
    if not all(node == ALL or _is_count(node) for _, node in pairs):
        raise EngineError(f"the file is not a script: {_SCRIPT}")
    return LossScript(pairs)


def steps(text: str) -> CapacitySteps:
    """Parse capacity limits from given seconds on.

    Raises:
        EngineError: the text has another format; the message shows the right one.
    """
    pairs = tuple(_pairs(text, _STEPS))
    if not all(_is_count(nodes) for _, nodes in pairs):
        raise EngineError(f"the file is not a capacity script: {_STEPS}")
    return CapacitySteps(pairs)


def times(text: str) -> tuple[float, ...]:
    """Parse the service times of mini-batches in seconds.

    Raises:
        EngineError: the text has another format; the message shows the right one.
    """
    data = _json(text, _TIMES)
    if not isinstance(data, list) or not data or not all(_is_time(number) for number in data):
        raise EngineError(f"the file has no service times: {_TIMES}")
    return tuple(map(float, data))


def _pairs(text: str, shape: str) -> Iterator[tuple[float, Any]]:
    data = _json(text, shape)
    if not isinstance(data, list) or not data:
        raise EngineError(f"the file is not a script: {shape}")
    for pair in data:
        match pair:
            case [at, what] if _is_time(at):
                yield float(at), what
            case _:
                raise EngineError(f"`{json.dumps(pair)}` is not a step of a script: {shape}")


def _json(text: str, shape: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise EngineError(f"the file is not JSON: {shape}") from None


def _is_time(value: object) -> bool:
    """Whether a value is a time in seconds that a double represents precisely."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _AGES


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
