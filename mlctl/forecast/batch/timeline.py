"""The nodes of one history over time, from its event log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mlctl.dataclasses import dataclass
from mlctl.forecast.history import LONGEST_S, EngineCloud
from mlctl.forecast.scenario import Scenario
from mlctl.simulator.engine import engine
from mlctl.simulator.engine.commands import SubmitBatch
from mlctl.simulator.engine.event_log import LoggedEvent

if TYPE_CHECKING:
    from mlctl.forecast import shape

# What a node does after an event; None: it is gone.
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
    """Return what each node did in the first run, by node and time; and the run's length."""
    log = list(events(scenario, seed, detail=False))
    began = next(event.at for event in log if event.event == "SUBMIT")
    ended = next((event.at for event in log if event.event == "JOB_ENDED"), log[-1].at)
    spells_: list[Spell] = []
    doing: dict[int, tuple[str, float]] = {}
    for event in log:
        number = event.facts.get("node")
        if event.at > ended or not isinstance(number, int) or event.event not in _STATES:
            continue
        if number in doing:
            state, begin = doing.pop(number)
            if event.at > max(begin, began):
                spells_.append(Spell(number, state, max(begin, began) - began, event.at - began))
        following = _STATES[event.event]
        if following is not None:
            doing[number] = (following, event.at)
    for number, (state, begin) in doing.items():
        if ended > max(begin, began):
            spells_.append(Spell(number, state, max(begin, began) - began, ended - began))
    return sorted(spells_, key=lambda spell: (spell.node, spell.begin)), ended - began


def events(scenario: Scenario, seed: str, *, detail: bool = True) -> Iterator[LoggedEvent]:
    """Yield the log of the first run of a history, from its submission on."""
    cloud = EngineCloud(scenario, seed)
    yield from engine.apply(cloud.world, SubmitBatch(scenario.job), detail=detail)
    for event in engine.wait(cloud.world, scenario.job.name, LONGEST_S, detail=detail):
        yield event
        if event.event == "JOB_ENDED":
            return


def document(
    row: str, quantile: str, run: int, scenario: Scenario, seed: str
) -> shape.TimelineData:
    """Return the timeline of a history as data."""
    all_spells, length = spells(scenario, seed)
    nodes = sorted({spell.node for spell in all_spells})
    return {
        "row": row,
        "quantile": quantile,
        "run": run,
        "seconds": length,
        "nodes": [
            {
                "node": node,
                "spells": [
                    {"state": spell.state, "from_s": spell.begin, "to_s": spell.end}
                    for spell in all_spells
                    if spell.node == node
                ],
            }
            for node in nodes
        ],
    }
