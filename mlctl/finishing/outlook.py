"""Forecast the rest of a job from what has happened so far."""

from __future__ import annotations

from typing import NamedTuple

from mlctl.dataclasses import replace
from mlctl.finishing.order import Order
from mlctl.finishing.progress import Progress, RunState
from mlctl.forecast.batch.policy import History, Past
from mlctl.forecast.batch.study import Study
from mlctl.forecast.training.recovery import RecoveryStudy, as_batch
from mlctl.forecast.training.study import TrainingScenario
from mlctl.simulator.engine.model import HOUR, ClusterSpec, SimulationSettings, Tier, TrainingSpec
from mlctl.workload import Workload

_RUNS, _LEAST = 200, 20  # histories, and at least those that match the run under way
_ATTEMPTS = 60_000  # of mini-batches in all histories, with the event engine


class Outlook(NamedTuple):
    """Seconds until the job is done (median, 95 %), its whole cost in USD, and P(late).

    `late` is None without a deadline.
    """

    left_s: float
    left_p95_s: float
    cost: float
    late: float | None


def forecast_outlook(
    study: Study, progress: Progress, now: float, state: RunState | None = None
) -> Outlook | None:
    """Forecast the rest of a job at a moment; None if it has ended, or no history ends.

    Histories cover the files that are left, under the order's policy with its own deadline. They
    start when the run under way was submitted; those in which it would have ended by now contradict
    what is observed, and are left out. If `state` has steps in checkpoints, histories start now,
    with these steps done.
    """
    order, run = progress.order, progress.under_way
    if progress.is_done or progress.outcome is not None:
        return None
    before = progress.runs[:-1] if run is not None else progress.runs
    last = before[-1] if before else None
    since, losses, left = run.at if run is not None else now, progress.losses, progress.files_left
    is_warm = last is not None and last.completed and (run is None or run.tier is last.tier)
    if run is not None and state is not None and state.batches and state.saved:
        last, since, losses, is_warm = run, now, 0, True
        left = max(order.sizes[0] - state.saved, 1)
    if is_warm:
        # A history begins without nodes, but those of the previous run are still allocated.
        settings = study.scenario.settings
        since -= settings.allocation_s + settings.preparation_s
    past = Past(since - progress.began, losses, last.tier if last is not None else None)
    policy = replace(order.recovery, past=past)
    if policy.shards:
        policy = replace(policy, shards=len(order.sizes) - progress.shard)
    job = replace(study.scenario.job, files=left)
    scenario = replace(study.scenario, job=job)
    study = replace(study, scenario=scenario, policy=policy, seed=f"outlook/{progress.shard}")
    runs = max(min(_RUNS, _ATTEMPTS // study.steps), _LEAST)
    histories, elapsed = study.histories(range(runs)), now - since
    fitting = [history for history in histories if history.time_s >= elapsed]
    if len(fitting) < _LEAST:  # the run already takes longer than almost every forecast
        fitting = histories
    times_s = sorted(history.done_s for history in fitting if history.done)
    if not times_s:
        return None
    late = None
    if order.deadline_s is not None:
        left_s = order.deadline_s - past.elapsed_s
        misses = sum(not history.done or history.done_s > left_s for history in fitting)
        late = misses / len(fitting)

    def cost(history: History) -> float:
        low, dedicated = history.low_s, history.dedicated_s
        return (low * order.low_price + dedicated * order.dedicated_price) / HOUR

    ahead = sum(map(cost, fitting)) / len(fitting)
    median, slow = (
        times_s[len(times_s) // 2],
        times_s[min(len(times_s) * 95 // 100, len(times_s) - 1)],
    )
    return Outlook(
        max(median - elapsed, 0.0), max(slow - elapsed, 0.0), progress.spent + ahead, late
    )


def build_job_study(order: Order) -> RecoveryStudy:
    """Build the study of a job without shards from the steps, nodes and prices of its order."""
    work, nodes = Workload(**order.workload), order.nodes
    cluster = ClusterSpec("1/c", Tier.LOW_PRIORITY, 0, nodes, price=order.dedicated_price)
    one_round = (work.steps or 0) if order.sizes[0] > (work.steps or 0) else 0
    spec = TrainingSpec(
        "1/outlook",
        order.sizes[0],
        order.node_s / nodes,
        cluster.name if order.deployment else "",
        None if order.deployment else cluster,
        work.checkpoint_every or one_round,
        work.seconds_per_checkpoint or 0.0,
        work.seconds_to_restore or 0.0,
        nodes,
    )
    training = TrainingScenario(cluster, spec, SimulationSettings(), order.low_price)
    return RecoveryStudy(as_batch(training), order.recovery, job=spec)
