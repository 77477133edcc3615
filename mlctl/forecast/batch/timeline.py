"""The nodes of one history over time, from its log of events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mlctl.forecast.history import LONGEST_S, EngineCloud
from mlctl.forecast.scenario import Scenario
from mlctl.pointer import Data
from mlctl.simulator.engine import engine
from mlctl.simulator.engine.commands import SubmitBatch
from mlctl.simulator.engine.event_log import LoggedEvent

# What a node does from an event on; None: it is gone.
_STATES = {
    "SCALE_UP": "allocating",
    "RESTORED": "preparing",
    "ALLOCATED": "preparing",
    "READY": "idle",
    "DISPATCH": "running",
    "LAST_SLOT_FREE": "idle",
    "PREEMPT": "lost",
    "LEAVING": "idle",
    "START_FAIL": "lost",
    "LEFT": None,
    "NOT_WANTED": None,
    "RECYCLED": None,
    "RESTORE_EXPIRED": None,
}


@dataclass(frozen=True, slots=True)
class Spell:
    """What a node did from one second of the first run to another."""

    node: int
    state: str
    begin: float
    end: float


def spells(scenario: Scenario, seed: str) -> tuple[list[Spell], float]:
    """What each node did in the first run of a history, by node and time; and how long it took."""
    log = list(events(scenario, seed, detail=False))
    began = next(one.at for one in log if one.event == "SUBMIT")
    ended = next((one.at for one in log if one.event == "JOB_ENDED"), log[-1].at)
    found: list[Spell] = []
    doing: dict[int, tuple[str, float]] = {}
    for one in log:
        number = one.facts.get("node")
        if one.at > ended or not isinstance(number, int) or one.event not in _STATES:
            continue
        if number in doing:
            state, since = doing.pop(number)
            if one.at > max(since, began):
                found.append(Spell(number, state, max(since, began) - began, one.at - began))
        following = _STATES[one.event]
        if following is not None:
            doing[number] = (following, one.at)
    for number, (state, since) in doing.items():
        if ended > max(since, began):
            found.append(Spell(number, state, max(since, began) - began, ended - began))
    return sorted(found, key=lambda each: (each.node, each.begin)), ended - began


def events(scenario: Scenario, seed: str, *, detail: bool = True) -> Iterator[LoggedEvent]:
    """The log of the first run of a history, from its submission on."""
    cloud = EngineCloud(scenario, seed)
    yield from engine.apply(cloud.world, SubmitBatch(scenario.job), detail=detail)
    for event in engine.wait(cloud.world, scenario.job.name, LONGEST_S, detail=detail):
        yield event
        if event.event == "JOB_ENDED":
            return


def document(row: str, quantile: str, run: int, scenario: Scenario, seed: str) -> dict[str, Data]:
    """The timeline of a history as data."""
    found, length = spells(scenario, seed)
    nodes = sorted({each.node for each in found})
    return {
        "row": row,
        "quantile": quantile,
        "run": run,
        "seconds": length,
        "nodes": [
            {
                "node": node,
                "spells": [
                    {"state": each.state, "from_s": each.begin, "to_s": each.end}
                    for each in found
                    if each.node == node
                ],
            }
            for node in nodes
        ],
    }
