"""Forecasts: advice beside SimPy's histories of as many configurations, and two workers beside one.

Seconds are those of the processor. SimPy's are of one history of each configuration, times the
runs. Those of workers are of the first process, and of the tasks one after the other, each by the
worker that is free first: so what else runs on the machine weighs less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from heapq import heapreplace
from statistics import median
from time import process_time
from typing import Any

from bench.engine import HAS_SIMPY, MODEL_M, simpy_history
from bench.figure import Effort, Figure, absent, beside
from mlctl.forecast.advice import search
from mlctl.forecast.advice.search import Place
from mlctl.forecast.batch.policy import RecoveryPolicy
from mlctl.forecast.executors import processes
from mlctl.simulator.engine.model import BatchWork

RUNS = 1000
SECONDS_PER_FILE = 60.0
SCENARIO = replace(
    MODEL_M,
    cluster=replace(MODEL_M.cluster, price=1.0),
    job=replace(MODEL_M.job, workload=BatchWork(per_file_s=SECONDS_PER_FILE)),
)
PLACE = Place("STANDARD_DS3_v2", "eastus", SCENARIO)


class Watched(Executor):
    """An executor of which is known how long its work takes on so many idle processors."""

    def __init__(self, inner: Executor, workers: int) -> None:
        self.inner = inner
        self.workers = workers
        self.seconds = 0.0

    def map(self, fn: Callable[..., Any], *work: Any, **_: Any) -> Iterator[Any]:
        """As every executor does."""
        busy = [0.0] * self.workers
        for seconds, result in self.inner.map(partial(_timed, fn), *work):
            heapreplace(busy, busy[0] + seconds)
            yield result
        self.seconds += max(busy)


def _timed(fn: Callable[..., Any], *work: Any) -> tuple[float, Any]:
    began = process_time()
    result = fn(*work)
    return process_time() - began, result


def candidates(nodes: Sequence[int], sizes: Sequence[int]) -> list[search.Candidate]:
    """Model M on so many nodes, with mini-batches of so many files."""
    vary = {"max_instances": [*nodes], "mini_batch_size": [*sizes]}
    return list(search.candidates([PLACE], SCENARIO.processes, vary, RecoveryPolicy(), "0"))


def advised(field: list[search.Candidate], workers: int = 1) -> float:
    """The seconds that advice over these configurations takes."""
    began = process_time()
    if workers == 1:
        search.halve(field, None, RUNS)  # in this process
        return process_time() - began
    with processes(workers) as inner:
        watched = Watched(inner, workers)
        search.halve(field, watched, RUNS)
    return process_time() - began + watched.seconds


def in_simpy(field: list[search.Candidate]) -> float:
    """The seconds that as many histories of each configuration would take."""
    began = process_time()
    for one in field:
        scenario = one.study.scenario
        seconds = scenario.job.mini_batch_size * SECONDS_PER_FILE
        simpy_history("bench", scenario.nodes, scenario.mini_batches, seconds)
    return RUNS * (process_time() - began)


def figures(effort: Effort) -> Iterator[Figure]:
    """Advice over 60 configurations, and over more by two workers."""
    rounds = 1 if effort.quick else 2
    few = partial(candidates, range(4, 44, 4), range(1, 7))
    name = f"advise, {len(few()) - 1} configurations"
    ours = median(advised(few()) for _ in range(rounds))
    if not HAS_SIMPY:
        yield absent(name, f"{ours:.2f} s", "SimPy")
    else:
        theirs = median(in_simpy(few()) for _ in range(rounds))
        yield beside(name, ours, theirs, f"SimPy, {RUNS:,} runs each", 0.03)
    nodes, sizes = (31, 6) if effort.quick else (61, 11)
    many = partial(candidates, range(1, nodes), range(1, sizes))
    pairs = [(advised(many(), 2), advised(many())) for _ in range(rounds)]
    name = f"advise, {len(many()) - 1} configurations"
    two, one = (median(each) for each in zip(*pairs, strict=True))
    yield beside(name, two, one, "one worker; by two", 1 / 1.7)
