"""Policies on traces of one node, as `Can't Be Late` compares them: cost beside dedicated alone.

    SPOT_TRACES=FOLDER python -m bench.run "spot traces"

A folder with traces of github.com/skypilot-org/spot-traces (`availability/1-node/...`) is read
where the variable names it. Else the traces are made: nine zones in which a node is there and away
for exponential times, from seldom there to nearly always, in the 195 s steps of the public ones.
The policies are those of `simulate` and `finish`; the cloud alone is another.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from statistics import mean

from bench.figure import Effort, Figure, at_most
from mlctl.forecast.batch.policy import KEPT, History, RecoveryPolicy, Switch, Way, carry_out
from mlctl.forecast.history import BilledTime, Extension, Try
from mlctl.forecast.scenario import Scenario
from mlctl.simulator.engine.jobs import JobStatus
from mlctl.simulator.engine.model import (
    HOUR,
    BatchSpec,
    BatchWork,
    ClusterSpec,
    SimulationSettings,
    Tier,
)

PRICE = 1 / 3  # of a low-priority node beside a dedicated one, as in the paper
START_S = 180.0  # from asking for a node to its work
FILE_S = 60.0
STARTS = 60  # in each zone
GOALS = ((24.0, 28.8, 0.56), (12.0, 18.0, 0.53))
_GAP_S = 195.0
_DAYS = 14
# Of the made traces: hours that a node is there, and away, on average.
_ZONES = (
    *((0.25, 4.0), (0.5, 3.0), (1.0, 3.0), (1.5, 1.5), (3.0, 2.0)),
    *((4.0, 1.0), (8.0, 2.0), (12.0, 1.0), (30.0, 1.5)),
)


@dataclass(frozen=True)
class Trace:
    """Whether a node is to be had, by steps of `gap_s`; at the end it begins again."""

    gap_s: float
    there: Sequence[bool]

    def until_change(self, at: float) -> tuple[bool, float]:
        """Whether a node is there, and until when that stays so."""
        step = int(at // self.gap_s + 1e-9)
        state = self.there[step % len(self.there)]
        end = step + 1
        while self.there[end % len(self.there)] is state and end < step + len(self.there):
            end += 1
        return state, end * self.gap_s


@dataclass
class TraceCloud:
    """A `history.Cloud` of one node: a trace says when the low-priority one is there."""

    scenario: Scenario
    trace: Trace
    begin: float
    now: float = 0.0
    used: dict[Tier, float] = field(default_factory=lambda: dict.fromkeys(Tier, 0.0))

    def run(self, files: int, tier: Tier, until: float, extension: Extension | None = None) -> Try:
        """The next run, to its end, its loss or `until`, as what it has done may extend it."""
        began, lost = self.now, float("inf")
        at = began
        if tier is Tier.LOW_PRIORITY:
            there, change = self.trace.until_change(self.begin + at)
            while not there and at < until:
                at = change - self.begin
                there, change = self.trace.until_change(change)
            lost = change - self.begin if there else lost
        ready = at + START_S
        end = min(ready + files * FILE_S, lost)
        while until < end:
            done = max(int((until - ready) // FILE_S), 0)
            later = extension(done) if extension is not None else until
            if later <= until + 1e-6:
                break
            until = later
        ended = min(end, until)
        done = min(max(int((ended - ready) / FILE_S + 1e-9), 0), files)
        status = JobStatus.COMPLETED if done == files else JobStatus.CANCELED
        self.used[tier] += max(ended - at, 0.0)
        self.now = ended
        return Try(status, began, ended, 0, 0.0, done, done, 0, given_up=until < end)

    def bill(self) -> BilledTime:
        """Node-seconds by tier."""
        low, dedicated = self.used[Tier.LOW_PRIORITY], self.used[Tier.DEDICATED]
        return BilledTime(low + dedicated, low, dedicated)


def traces() -> Iterator[tuple[str, Trace]]:
    """The zones with their traces, each with where it is from."""
    folder = os.environ.get("SPOT_TRACES")
    if folder:
        for path in sorted(Path(folder).glob("**/1-node/aws-02-15-2023/*.json")):
            data = json.loads(path.read_text())
            there = [bool(nodes) for nodes in data["data"]]
            yield path.stem, Trace(float(data["metadata"]["gap_seconds"]), there)
        return
    for number, (up_h, away_h) in enumerate(_ZONES):
        yield f"made {number}", made(Random(number), up_h, away_h)


def made(rng: Random, up_h: float, away_h: float) -> Trace:
    """A trace in which both states last for exponential times of these means."""
    there: list[bool] = []
    state = rng.random() < up_h / (up_h + away_h)
    while len(there) < _DAYS * 24 * HOUR / _GAP_S:
        mean_s = (up_h if state else away_h) * HOUR
        there += [state] * max(round(rng.expovariate(1 / mean_s) / _GAP_S), 1)
        state = not state
    return Trace(_GAP_S, there)


def scenario(work_h: float) -> Scenario:
    """So many hours of work on one node, in files of a minute."""
    files = round(work_h * HOUR / FILE_S)
    job = BatchSpec("1/forecast", "1/c", files, BatchWork(per_file_s=FILE_S), 1, timeout_s=1e6)
    cluster = ClusterSpec("1/c", Tier.LOW_PRIORITY, 0, 1, 0.0, price=1.0)
    return Scenario(cluster, job, SimulationSettings(), PRICE)


def policy_of(way: Way, work_h: float, deadline_h: float) -> RecoveryPolicy:
    """A policy that knows how long dedicated work takes."""
    files = round(work_h * HOUR / FILE_S)
    reserve = KEPT if way is Way.RESERVE else None
    switch = Switch(deadline_h * HOUR, START_S, work_h * HOUR, files, FILE_S, reserve)
    return RecoveryPolicy(way, switch=switch)


def history(trace: Trace, begin: float, way: Way, work_h: float, deadline_h: float) -> History:
    """The job from a moment of a trace on, under a policy."""
    work = scenario(work_h)
    cloud = TraceCloud(work, trace, begin)
    return carry_out(policy_of(way, work_h, deadline_h), cloud, work.job.files, 1)


def omniscient(trace: Trace, begin: float, work_h: float, deadline_h: float) -> float:
    """A bound on the cost of any policy in dedicated node-hours: all spells that are worth a start.

    Whatever of the work the spells until the deadline cannot hold is done on dedicated nodes.
    """
    at, end, free = begin, begin + deadline_h * HOUR, 0.0
    spells = 0
    while at < end:
        there, change = trace.until_change(at)
        length = min(change, end) - at - START_S
        if there and length > 0:
            free, spells = free + length, spells + 1
        at = change
    work = work_h * HOUR
    low = min(free, work)
    return (low * PRICE + (work - low)) / HOUR


def costs(way: Way | None, work_h: float, deadline_h: float, starts: int) -> tuple[float, int, int]:
    """Mean cost as a ratio to dedicated alone, deadlines kept, and how many histories there are."""
    ratios, kept = [], 0
    for _, trace in traces():
        span = len(trace.there) * trace.gap_s
        for number in range(starts):
            begin = number * span / starts
            if way is None:
                ratios.append(omniscient(trace, begin, work_h, deadline_h) / work_h)
                kept += 1
                continue
            run = history(trace, begin, way, work_h, deadline_h)
            ratios.append((run.low_s * PRICE + run.dedicated_s) / HOUR / work_h)
            kept += run.done and run.done_s <= deadline_h * HOUR + 1e-6
    return mean(ratios), kept, len(ratios)


def figures(effort: Effort) -> Iterator[Figure]:
    """Each policy at each deadline: cost beside dedicated alone, and deadlines kept."""
    origin = "public traces" if os.environ.get("SPOT_TRACES") else "made traces"
    for work_h, deadline_h, goal in GOALS:
        for name, way in (
            ("greedy (deadline)", Way.DEADLINE),
            ("uniform-progress", Way.UNIFORM_PROGRESS),
            ("reserve", Way.RESERVE),
            ("omniscient bound", None),
        ):
            ratio, kept, count = costs(way, work_h, deadline_h, 6 if effort.quick else STARTS)
            is_goal = way is Way.UNIFORM_PROGRESS and origin == "public traces"
            most = goal if is_goal else 1.0  # the goals are of the public traces
            figure = at_most(f"{name}, {work_h:g} h in {deadline_h:g} h", ratio, "", most)
            yield replace(
                figure,
                ours=f"{ratio:.3f}",
                met=figure.met and kept == count,
                note=f"{kept} of {count} in time, {origin}",
            )
