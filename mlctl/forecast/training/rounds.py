"""Jobs that are made of others, as their forecast sees them: parts in a row, and parts at once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from graphlib import TopologicalSorter
from typing import Any, NamedTuple

from mlctl.forecast.fields import MOST_NODES
from mlctl.kinds.resource import Resource

_NEEDED = re.compile(r"parent\.jobs\.([^.}\s]+)\.outputs")
_MOST_TRIALS = 1000  # that a sweep may have


class Rounds(NamedTuple):
    """So many parts one after the other, and so many at once; all take the same time."""

    in_a_row: int = 1
    at_once: int = 1


def rounds_of(job: Resource) -> Rounds:
    """The parts of a job: the steps of a pipeline, the trials of a sweep, or a command."""
    match str(job.get("type") or "command").casefold():
        case "pipeline":
            return of_steps(job.get("jobs") or {})
        case "sweep":
            limits = job.get("limits") or {}
            total = limits.get("max_total_trials") or _MOST_TRIALS
            at_once = limits.get("max_concurrent_trials") or total
            return Rounds(-(-total // at_once), min(at_once, total, MOST_NODES))
        case _:
            return Rounds()


def of_steps(steps: Mapping[str, Any]) -> Rounds:
    """The longest chain of steps that need each other's outputs, and how many are beside it."""
    needs = {step: set(_NEEDED.findall(str(node))) & {*steps} for step, node in steps.items()}
    depths: dict[str, int] = {}
    for step in TopologicalSorter(needs).static_order():
        depths[step] = 1 + max((depths[needed] for needed in needs[step]), default=0)
    in_a_row = max(depths.values(), default=1)
    return Rounds(in_a_row, min(-(-max(len(steps), 1) // in_a_row), MOST_NODES))
