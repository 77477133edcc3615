"""The draws of the usual case of the shortcut: the engine's, by its keys, with less work for each.

`engine.nodes` draws lives, `engine.capacity` and `engine.preemption` shocks and outages.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from math import expm1, inf, log1p
from struct import Struct

from mlctl.simulator.engine import capacity, rng
from mlctl.simulator.engine.model import HOUR, Tier
from mlctl.simulator.engine.processes import OnOff, Poisson, PreemptionProcess, Shock, exponential

_SCALE = -(2.0**-53)
_MOST = 2**64
_ROUNDING = 1e-12
_WORDS = Struct(f"<{rng.ROW}Q").unpack


def are_known(processes: Sequence[PreemptionProcess]) -> bool:
    """Whether these are losses at one rate at most, shocks and outages, at all hours alike."""
    rates = sum(isinstance(one, Poisson) for one in processes)
    return rates <= 1 and all(
        isinstance(one, Poisson | Shock | OnOff) and one.by_hour is None and one.rate > 0
        for one in processes
    )


def draw_of(life: float, rate: float) -> int:
    """A draw above which a node lives longer than `life` seconds, for certain."""
    if not rate:
        return 0
    return int(min(_ROUNDING - expm1(-life * rate / HOUR), 1.0) * _MOST)


class Lives:
    """How long nodes are there, in seconds: by their number, and which time it is."""

    __slots__ = ("_key", "_rate", "_rows")

    def __init__(self, key: str, rate: float) -> None:
        self._key, self._rate = key, rate
        self._rows: dict[tuple[int, int], tuple[int, ...]] = {}

    def first(self, nodes: int) -> Sequence[int]:
        """The draws of nodes that are there for the first time: 64 bits each, fewer live less."""
        if not self._rate:
            return (_MOST,) * nodes
        found: tuple[int, ...] = ()
        for row in range(-(-nodes // rng.ROW)):
            found += _WORDS(blake2b(f"{self._key}1/{row}".encode()).digest())
        return found[:nodes]

    def losses(self, first: Sequence[int], at: float) -> list[float]:
        """When nodes of these first draws are lost that are there from `at` on."""
        rate = self._rate
        if not rate:
            return [inf] * len(first)
        return [at + log1p((word >> 11) * _SCALE) / rate * -HOUR for word in first]

    def of(self, node: int, time: int) -> float:
        """How long a node is there for this time; `rng.uniform_of_row`, eight numbers a hash."""
        if not self._rate:
            return inf
        row = node // rng.ROW
        words = self._rows.get((time, row))
        if words is None:
            digest = blake2b(f"{self._key}{time}/{row}".encode()).digest()
            words = self._rows[time, row] = _WORDS(digest)
        return log1p((words[node % rng.ROW] >> 11) * _SCALE) / self._rate * -HOUR


class Shocks:
    """Shocks by their moments, the next of which is `due`; the first outage begins at `out`."""

    __slots__ = ("_coming", "_seed", "_where", "due", "out")

    def __init__(self, seed: str, region: str, processes: Sequence[PreemptionProcess]) -> None:
        self._seed = seed
        self._where = capacity.key_of(region, Tier.LOW_PRIORITY)
        self._coming: list[tuple[float, int, int, Shock]] = []  # (due, serial, tick, process)
        self.out = self.due = inf
        for serial, process in enumerate(processes, 1):
            if isinstance(process, Shock):
                self._coming.append((self._wait(serial, 0, process), serial, 0, process))
            elif isinstance(process, OnOff):
                self.out = min(self.out, self._wait(serial, 0, process))
        if self._coming:
            self.due = min(self._coming)[0]

    def _wait(self, serial: int, tick: int, process: Shock | OnOff) -> float:
        key = f"{self._seed}/source/{self._where}/{serial}/{tick}"
        return exponential(process.rate, rng.uniform(key))

    def strike(self, there: list[int]) -> list[int]:
        """Let the next shock happen: which nodes of those that are there it takes."""
        active = min(self._coming)
        due, serial, tick, process = active
        random = rng.generator(f"{self._seed}/shock/{self._where}/{serial}/{tick}").random
        self._coming.remove(active)
        following = due + self._wait(serial, tick + 1, process)
        self._coming.append((following, serial, tick + 1, process))
        self.due = min(self._coming)[0]
        return [node for node in there if random() < process.fraction]
