"""Worlds in which a job is finished: a simulated workspace with a seed, and what its nodes meet."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

from mlctl.backends.local.backend import LocalBackend
from mlctl.cli.forecast.subject import with_live
from mlctl.config.graph import Graph
from mlctl.dataclasses import asdict, replace
from mlctl.finishing.begin import PolicyForecast, build_order
from mlctl.finishing.cloud import WorkspaceCloud
from mlctl.finishing.controller import Controller
from mlctl.finishing.order import Order
from mlctl.finishing.progress import Progress
from mlctl.forecast.batch.policy import WATCHFUL, RecoveryPolicy, Way
from mlctl.forecast.batch.reading import Wanted, read
from mlctl.forecast.batch.study import Study, with_deadline
from mlctl.forecast.training.recovery import RecoveryStudy, as_batch
from mlctl.forecast.training.study import TrainingScenario
from mlctl.kinds.address import Address
from mlctl.simulator.control_plane import control, disruptions
from mlctl.simulator.engine.model import TrainingSpec
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
    order = build_order(
        PolicyForecast(of.study, of.study.summary([])),
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
        workload=Workload(seconds_per_file=of.workload.seconds_per_file),
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
        Progress.from_records(journals.read(NAME)),
        WorkspaceCloud(backend, backend.jobs),
        lambda record: journals.append(NAME, record),
    )


def trained(
    run: int,
    processes: tuple[PreemptionProcess, ...],
    policy: RecoveryPolicy,
    deadline_s: float | None,
    *,
    nodes: int = 1,
    **work: Any,
) -> World:
    """The same cloud, and the study of a training job on its cluster."""
    there = world(run, processes, policy, None, nodes=nodes)
    batch = there.study.scenario
    facts = {"steps": 200, "seconds_per_step": 30.0, "checkpoint_every": 10}
    workload = Workload(**{**facts, "seconds_to_restore": 20.0, **work})
    assert workload.steps is not None
    spec = TrainingSpec(
        batch.job.name,
        workload.steps,
        workload.seconds_per_step or 0.0,
        batch.cluster.name,
        checkpoint_every=workload.checkpoint_every or 0,
        checkpoint_s=workload.seconds_per_checkpoint or 0.0,
        restore_s=workload.seconds_to_restore or 0.0,
        instance_count=nodes,
    )
    training = TrainingScenario(
        batch.cluster, spec, batch.settings, batch.low_priority_price, processes
    )
    study = RecoveryStudy(as_batch(training), replace(policy, resumes=True), job=spec)
    [study_] = with_deadline([study], deadline_s)
    return there._replace(study=study_, workload=workload)


def training_ordered(of: World, deadline_s: float | None = None, **changes: Any) -> Order:
    """The order of a training job, whose checkpoints are its output `kept` and its input `from`."""
    outputs = {"kept": {"jobOutputType": "uri_folder", "mode": "ReadWriteMount"}}
    body = {
        "jobType": "Command",
        "command": "python train.py",
        "environmentId": "azureml://registries/azureml/environments/sklearn-1.5/labels/latest",
        "inputs": {"from": {"jobInputType": "uri_folder", "uri": "azureml://datastores/d/paths/p"}},
        "outputs": outputs,
        "resources": {"instanceCount": of.study.scenario.job.instance_count},
    }
    facts = {"endpoint": "", "deployment": CPU.name, "dedicated": SURE_CPU.name}
    of_job = {"job": body, "checkpoint": "kept", "resumes": "from"}
    workload = {key: part for key, part in asdict(of.workload).items() if part is not None}
    return ordered(of, deadline_s, **{**facts, **of_job, "workload": workload, **changes})


def training_by_chance(number: int) -> tuple[World, float | None]:
    """A world with a training job for each number, and its deadline."""
    rng = Random(number)
    way = rng.choice([Way.REMAINING, Way.FALLBACK, Way.RESUBMIT, *WATCHFUL, *WATCHFUL])
    nodes = rng.randint(1, 2)
    work: dict[str, Any] = {"steps": rng.randint(50, 300), "checkpoint_every": rng.randint(5, 40)}
    work["seconds_per_checkpoint"] = rng.choice([0.0, 15.0])
    deadline_s = 1800.0 + work["steps"] * 30.0 * rng.uniform(1.3, 2.5) if way in WATCHFUL else None
    processes = (Poisson(rng.uniform(0.1, 1.0)), OnOff(rng.uniform(0.3, 2), 3600 * rng.random()))
    policy = RecoveryPolicy(way, rng.randint(1, 3))
    return trained(number, processes, policy, deadline_s, nodes=nodes, **work), deadline_s


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
