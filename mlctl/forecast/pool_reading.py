"""Reads a Batch Pool from what files declare."""

from __future__ import annotations

from dataclasses import dataclass

from mlctl.catalog import prices
from mlctl.config.graph import Graph
from mlctl.forecast.batch.history import LONGEST_S
from mlctl.forecast.fields import ForecastError, number_of, price_of
from mlctl.forecast.pools import PoolScenario
from mlctl.kinds.resource import Resource
from mlctl.simulator.engine.model import SharedQueueSettings, SimulationSettings
from mlctl.simulator.engine.processes import PreemptionProcess

_VMS = "vm_count"
_JOBS, _SECONDS = (0.01, 1e6), (0.01, LONGEST_S)


@dataclass(frozen=True, slots=True)
class PoolWanted:
    """What is to be forecast, as far as files do not say; see `PoolScenario`."""

    jobs_per_day: float
    job_s: float
    exponential: bool
    size: str
    price: float | None
    node_price: float | None
    idle_s: float
    shared: SharedQueueSettings
    settings: SimulationSettings
    processes: tuple[PreemptionProcess, ...]


def read(graph: Graph, wanted: PoolWanted) -> tuple[str, PoolScenario]:
    """The name of the pool that the files declare, and the scenario.

    Raises:
        ForecastError: they declare none, or its queue would grow without end.
    """
    found = _pool(graph)
    for name, value, (least, most) in (
        ("--jobs-per-day", wanted.jobs_per_day, _JOBS),
        ("--seconds-per-job", wanted.job_s, _SECONDS),
    ):
        if not least <= value <= most:
            raise ForecastError(f"{name} must be between {least:g} and {most:g}, not {value:g}")
    vms, label = number_of(found, _VMS, 0), found.label((_VMS,))
    price = price_of(wanted.size, wanted.price, label)
    scenario = PoolScenario(
        vms,
        wanted.jobs_per_day,
        wanted.job_s,
        wanted.exponential,
        price,
        price_of(wanted.size, wanted.node_price, label),
        prices.LOW_PRIORITY_RATIO,
        wanted.idle_s,
        wanted.shared,
        wanted.settings,
        wanted.processes,
    )
    if not vms:
        raise ForecastError("a pool without VMs runs no job", label)
    if wanted.jobs_per_day >= scenario.most_jobs_per_day:
        raise ForecastError(
            f"{vms} VMs take fewer than {scenario.most_jobs_per_day:g} such jobs a day, and"
            f" {wanted.jobs_per_day:g} come: the queue grows without end",
            label,
        )
    others = wanted.shared.arrivals * wanted.shared.mean_s / 3600
    if others + wanted.jobs_per_day * wanted.job_s / 86400 >= wanted.shared.slots:
        raise ForecastError(
            f"the shared queue runs {wanted.shared.slots} jobs at once, which is too few for those"
            " of all users: it grows without end; say --shared-slots or --shared-arrivals"
        )
    return str(found.address), scenario


def _pool(graph: Graph) -> Resource:
    found = [one for one in graph.resources.values() if one.get(_VMS) is not None]
    if len(found) != 1:
        names = ", ".join(str(one.address) for one in found)
        raise ForecastError(
            f"the files declare {len(found)} pools ({names}): name the file of one"
            if found
            else "the files declare no Batch Pool"
        )
    return found[0]
