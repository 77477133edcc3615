"""Where a rehearsal runs, and which nodes are lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from mlctl.dataclasses import dataclass
from mlctl.rehearsal.process import Interpreter
from mlctl.simulator.engine.processes import PreemptionProcess


@dataclass(frozen=True, slots=True, kw_only=True)
class KillSchedule:
    """The losses: `kills` of one each, or by `weather`, all in one run.

    `only` is the number of a single kill to repeat.
    """

    seed: int = 0
    kills: int = 10
    weather: tuple[PreemptionProcess, ...] = ()
    only: int | None = None


@dataclass(frozen=True, slots=True)
class SlotSpan:
    """A stretch of the timeline, in virtual seconds: what a slot did, and how it ended."""

    node: int
    slot: int
    start: float
    end: float
    mini_batch: int | None
    end_state: str


@dataclass(frozen=True, slots=True)
class Stage:
    """Where and with what a rehearsal runs.

    `progress` gets the name of each run and their number; `on_event` what each slot did.
    """

    interpreter: Interpreter
    folder: Path
    environment: Mapping[str, str]
    keep: bool = False
    progress: Callable[[str, int], None] = lambda _name, _total: None
    on_event: Callable[[SlotSpan], None] = lambda _: None
