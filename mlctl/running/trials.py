"""Run a sweep: trials with values of its search space; the best one's outputs are the sweep's.

What is compared is the last value of the primary metric that a trial has logged by MLflow.
"""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mlctl.dataclasses import replace
from mlctl.kinds.expressions import INPUTS, SEARCH_SPACE
from mlctl.running import commands
from mlctl.running.commands import Conditions
from mlctl.running.model import NodeResult, RunError, RunNode, RunStatus, Trials
from mlctl.service_errors import ServiceError
from mlctl.simulator.control_plane.jobs.mlflow_store import metric_values
from mlctl.simulator.control_plane.jobs.sweeps import Sweep, samples

_SEED = "run"


def run(
    node: RunNode, values: Mapping[str, str], folder: Path, conditions: Conditions, at_once: int
) -> NodeResult:
    """Run the trials of a sweep; the result has the metrics and parameters of the best one.

    Raises:
        RunError: the search space is not valid, or a trial cannot be started.
    """
    sweep = node.trials
    assert sweep is not None
    space = Sweep(sweep.space, sweep.algorithm, {}, {}, {})
    try:
        drawn = list(itertools.islice(samples(_SEED, node.name, space), sweep.max_trials))
    except ServiceError as error:
        raise RunError(f"{node.where}: {error.message}") from None
    reports: dict[int, list[float]] = {}

    def trial(number: int) -> NodeResult:
        place = folder / "trials" / str(number)
        stopping = _Stopping(sweep, place, number, reports)
        texts = {
            f"{root}.{name}": str(value)
            for name, value in drawn[number].items()
            for root in (INPUTS, SEARCH_SPACE)
        }
        return _trial(node, {**values, **texts}, stopping, conditions)

    with ThreadPoolExecutor(max(1, min(at_once, sweep.at_once))) as pool:
        results = list(pool.map(trial, range(len(drawn))))
    pairs = zip(results, drawn, strict=True)
    results = [replace(result, parameters=parameters) for result, parameters in pairs]
    return replace(_best(node, sweep, results, folder), trials=tuple(results))


def _trial(
    node: RunNode, values: Mapping[str, str], stopping: _Stopping, conditions: Conditions
) -> NodeResult:
    """Run one trial in its own folder."""
    place = stopping.folder
    trial = replace(node, name=f"{node.name}_{stopping.number}", trials=None)
    commands.lay_out(place, node.code, node.outputs, conditions.interpreter.python)
    command = commands.bind(node.command, {**values, **commands.output_places(node, place)})
    began = time.monotonic()
    watched = replace(conditions, cancelled=lambda: conditions.cancelled() or stopping.now())
    status, why = commands.run(trial, command, place, watched)
    if stopping.stopped:
        why = "the policy of early termination stopped it"
    seconds = time.monotonic() - began
    return NodeResult(status, place, seconds, why=why, metrics=commands.metrics(place))


class _Stopping:
    """The policy of early termination, evaluated at each interval of primary metric reports.

    Source: learn.microsoft.com/azure/machine-learning/how-to-tune-hyperparameters, section Early
    termination. `reports` are those of all trials, by their number.
    """

    def __init__(
        self, sweep: Trials, folder: Path, number: int, reports: dict[int, list[float]]
    ) -> None:
        self.sweep, self.folder, self.number, self.reports = sweep, folder, number, reports
        self.kind = str(sweep.early.get("type") or "").casefold()
        self.interval = int(str(sweep.early.get("evaluation_interval") or 1))
        self.delay = int(str(sweep.early.get("delay_evaluation") or 0))
        self.asked = 0
        self.stopped = False

    def now(self) -> bool:
        """Whether the trial is to stop."""
        if not self.kind or self.stopped:
            return self.stopped
        name = self.sweep.metric
        file = next((self.folder / "mlruns").glob(f"*/*/metrics/{name}"), None)
        values = [point.value for point in metric_values(name, file)] if file is not None else []
        self.reports[self.number] = values
        if len(values) > max(self.asked, self.delay) and len(values) % self.interval == 0:
            self.asked = len(values)
            self.stopped = self._is_poor(values)
        return self.stopped

    def _is_poor(self, values: list[float]) -> bool:
        sign = 1 if self.sweep.maximize else -1
        count, best = len(values), max(sign * value for value in values)
        others = {
            number: [sign * value for value in reported[:count]]
            for number, reported in list(self.reports.items())
            if number != self.number and reported
        }
        if not others:
            return False
        if self.kind == "bandit":
            top = max(max(reported) for reported in others.values())
            slack = self.sweep.early.get("slack_factor")
            if slack is not None:
                return (
                    best < top / (1 + float(str(slack)))
                    if top > 0
                    else best < top * (1 + float(str(slack)))
                )
            return best < top - float(str(self.sweep.early.get("slack_amount") or 0))
        if self.kind == "median_stopping":
            return best < statistics.median(
                statistics.mean(reported) for reported in others.values()
            )
        share = float(str(self.sweep.early.get("truncation_percentage") or 0)) / 100
        ranked = sorted([best, *(max(reported) for reported in others.values())])
        return ranked.index(best) < math.floor(share * len(ranked))


def _best(node: RunNode, sweep: Trials, results: list[NodeResult], folder: Path) -> NodeResult:
    """Return the best trial as the sweep's result; fail if none completed with the metric."""
    completed = [result for result in results if result.status is RunStatus.COMPLETED]
    measured = [result for result in completed if sweep.metric in result.metrics]
    if not measured:
        if completed:
            logged = sorted({name for result in completed for name in result.metrics})
            why = f"no trial logged the primary metric `{sweep.metric}`"
            why += f"; logged were {', '.join(logged)}" if logged else " (by mlflow.log_metric)"
        else:
            why = f"none of {len(results)} trials completed: {results[0].why}"
            if results[0].log.exists():
                (folder / "log.txt").write_bytes(results[0].log.read_bytes())
        return NodeResult(RunStatus.FAILED, folder, why=why)
    sign = 1 if sweep.maximize else -1
    best = max(measured, key=lambda result: sign * result.metrics[sweep.metric])
    for name in node.outputs:
        place = folder / "outputs" / name
        if place.is_dir():
            place.rmdir()
        place.symlink_to(best.output(name))
    (folder / "log.txt").write_bytes(best.log.read_bytes() if best.log.exists() else b"")
    return NodeResult(RunStatus.COMPLETED, folder, metrics=best.metrics, parameters=best.parameters)
