"""Worlds in which a job is finished: a simulated workspace with a seed, and what its nodes meet."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

from mlctl.backends.local.backend import LocalBackend
from mlctl.cli.forecast.subject import with_live
from mlctl.config.graph import Graph
from mlctl.dataclasses import replace
from mlctl.finishing.begin import Option, order_of
from mlctl.finishing.cloud import WorkspaceCloud
from mlctl.finishing.controller import Controller
from mlctl.finishing.order import Order
from mlctl.finishing.progress import Progress
from mlctl.forecast.batch.policy import WATCHFUL, RecoveryPolicy, Way
from mlctl.forecast.batch.reading import Wanted, read
from mlctl.forecast.batch.study import Study, with_deadline
from mlctl.kinds.address import Address
from mlctl.simulator.control_plane import control, disruptions
from mlctl.simulator.engine.processes import OnOff, Poisson, PreemptionProcess, Shock
from mlctl.workload import Workload
from tests.builders.bodies import BLUE, CPU, ENDPOINT, MODEL, cluster, deployment, endpoint, model
from tests.builders.bodies import put as put_
from tests.builders.workspace import SCOPE

SURE_CPU = Address("compute", f"{CPU.name}-dedicated")
SURE = Address("batch-deployment", f"{BLUE.name}-dedicated", BLUE.parent)
NAME = "forecast"  # of the first run, as forecasts call it


class World(NamedTuple):
    """A workspace, and the study whose history it is."""

    backend: LocalBackend
    study: Study
    run: int
    workload: Workload


def world(
    run: int,
    processes: tuple[PreemptionProcess, ...],
    policy: RecoveryPolicy,
    deadline_s: float | None,
    *,
    nodes: int = 2,
    files: int = 60,
    seconds: float = 60.0,
    mini_batch_size: int = 2,
    sure: bool = True,
    **settings: Any,
) -> World:
    """A cloud with the seed of a history, with the cluster, its deployment and their twin."""
    backend = LocalBackend(":memory:", SCOPE)
    control.reset(backend.handle, f"0/{run}")
    settings = {
        **settings,
        "miniBatchSize": mini_batch_size,
        "resources": {"instanceCount": nodes},
        "retrySettings": {"maxRetries": 3, "timeout": "PT10H"},
    }
    put_(backend, CPU, cluster(nodes=nodes, tier="LowPriority"))
    put_(backend, MODEL, model())
    put_(backend, ENDPOINT, endpoint())
    put_(backend, BLUE, deployment(backend.scope, **settings))
    if sure:
        put_(backend, SURE_CPU, cluster(nodes=nodes, tier="Dedicated"))
        twin = deployment(backend.scope, **settings)
        twin["properties"]["compute"] = SURE_CPU.id(backend.scope)
        put_(backend, SURE, twin)
    workload = Workload(files=files, seconds_per_file=seconds)
    subject = read(with_live(Graph({}, ()), backend, BLUE), Wanted(workload, deployment=BLUE))
    [study] = with_deadline([Study(subject.scenario.under(processes), policy)], deadline_s)
    if processes:
        disruptions.set_preemption(backend.handle, processes)
    return World(backend, study, run, workload)


def ordered(of: World, deadline_s: float | None = None, **changes: Any) -> Order:
    """The order of a world's study."""
    order = order_of(
        Option(of.study, of.study.summary([])),
        deadline_s,
        name=NAME,
        endpoint=ENDPOINT.name,
        deployment=BLUE.name,
        dedicated=SURE.name,
        makes_twin=False,
        inputs={},
        files=(),
        max_cost=None,
        give_up_after=2,
        workload={"seconds_per_file": of.workload.seconds_per_file},
    )
    return replace(order, **changes)


def begun(of: World, order: Order) -> Controller:
    """A controller of a job that begins now; its journal is the workspace's."""
    record = {"at": of.backend.now(), "event": "begun", "order": order.document()}
    of.backend.journals.append(NAME, record)
    return resumed(of.backend)


def resumed(backend: LocalBackend) -> Controller:
    """A controller that knows no more than the journal."""
    journals = backend.journals
    return Controller(
        Progress.of(journals.read(NAME)),
        WorkspaceCloud(backend, backend.jobs),
        lambda record: journals.append(NAME, record),
    )


def by_chance(number: int) -> tuple[World, float | None]:
    """A world of its own for each number, and its deadline."""
    rng = Random(number)
    way = rng.choice([Way.RESUBMIT, Way.REMAINING, Way.FALLBACK, *WATCHFUL, *WATCHFUL])
    files, nodes = rng.randint(20, 120), rng.randint(1, 3)
    work_s = files * 60.0 / nodes
    deadline_s = 900.0 + work_s * rng.uniform(1.3, 2.5) if way in WATCHFUL else None
    kinds: list[PreemptionProcess] = [
        Poisson(rng.uniform(0.1, 1.0)),
        Shock(rng.uniform(0.1, 1.0), rng.choice([0.5, 1.0])),
        OnOff(rng.uniform(0.3, 2), 3600 * rng.uniform(0.1, 1)),
    ]
    processes = tuple(rng.sample(kinds, rng.randint(1, 2)))
    policy = RecoveryPolicy(way, rng.randint(1, 3), shards=rng.randint(1, 6))
    return (
        world(number, processes, policy, deadline_s, nodes=nodes, files=files),
        deadline_s,
    )
