"""What the simulated cloud does not take: one sentence each, before anything has changed."""

from __future__ import annotations

from collections.abc import Collection
from math import inf, isfinite

from mlctl.simulator.engine.commands import (
    AddCluster,
    AddPool,
    CancelJob,
    Command,
    Configure,
    DeleteCluster,
    DeletePool,
    Lock,
    Preempt,
    Refused,
    ResizeCluster,
    ResizePool,
    SetCapacity,
    SetPreemption,
    SetTenancy,
    SubmitBatch,
    SubmitPoolJob,
    SubmitTraining,
    Unknown,
)
from mlctl.simulator.engine.model import (
    BatchSpec,
    BatchWork,
    ClusterSpec,
    Settings,
    Tier,
    TrainingSpec,
)
from mlctl.simulator.engine.processes import (
    ALL,
    Bathtub,
    Capacity,
    Constant,
    HyperExponential,
    OnOff,
    Poisson,
    Preemption,
    Script,
    Shock,
    Steps,
    Trace,
    Weibull,
)
from mlctl.simulator.engine.state import World


def refuse(world: World, command: Command) -> None:
    """Return where the command can be carried out.

    Raises:
        Unknown: it names something that is not there.
        Refused: it asks for something that cannot be.
    """
    match command:
        case AddCluster(spec):
            _unused(world.clusters, "a cluster", spec.name)
            _cluster(spec)
        case ResizeCluster(name):
            _there(world.clusters, "cluster", name)
            _resize(world.clusters[name].spec, command)
        case DeleteCluster(name):
            _there(world.clusters, "cluster", name)
            if world.clusters[name].locked:
                raise Refused(f"cluster `{name}` cannot be deleted: a resource lock holds it")
        case Lock(name):
            _there(world.clusters, "cluster", name)
        case SubmitBatch(spec):
            _unused(world.jobs, "a job", spec.name)
            _there(world.clusters, "cluster", spec.cluster)
            _batch(world, spec)
        case SubmitTraining(spec):
            _unused(world.jobs, "a job", spec.name)
            _training(world, spec)
        case CancelJob(name):
            _there(world.jobs, "job", name)
            status = world.jobs[name].status
            if status.ended:
                raise Refused(f"job `{name}` has ended already: it is {status.value}")
        case Preempt(name, numbers):
            _preempt(world, name, numbers)
        case _:
            _refuse_decree(world, command)


def _refuse_decree(world: World, command: Command) -> None:
    match command:
        case SetPreemption(processes):
            for process in processes:
                _process(process)
        case SetCapacity(capacity):
            if capacity is not None:
                _process(capacity)
        case Configure(settings):
            _settings(settings)
        case AddPool(spec):
            _unused(world.pools, "a pool", spec.name)
            _number(spec.vms, "the number of VMs")
            _number(spec.price or 0.0, "the price")
        case ResizePool(name, vms):
            _there(world.pools, "pool", name)
            _number(vms, "the number of VMs")
        case DeletePool(name):
            _there(world.pools, "pool", name)
        case SubmitPoolJob(name, duration, where):
            _unused(world.jobs, "a job", name)
            _number(duration, "the duration")
            if where is not None:
                _there(world.pools, "pool", where)
        case SetTenancy(tenancy):
            _number(tenancy.slots, "the number of jobs at once", 1)
            _number(tenancy.arrivals, "the rate of arrivals")
            _positive(tenancy.mean_s, "the mean duration")
        case _:
            raise AssertionError(command)


def _there(known: Collection[str], what: str, name: str) -> None:
    if name not in known:
        raise Unknown(f"there is no {what} `{name}`")


def _unused(known: Collection[str], what: str, name: str) -> None:
    if not name or name in known:
        raise Refused(f"there is {what} `{name}` already" if name else f"{what} needs a name")


def _number(value: float, what: str, least: float = 0, most: float = inf) -> None:
    if not (isfinite(value) and least <= value <= most):
        bounds = f"at least {least:g}" if most == inf else f"between {least:g} and {most:g}"
        raise Refused(f"{what} must be {bounds}, not {value:g}")


def _positive(value: float, what: str) -> None:
    if not (isfinite(value) and value > 0):
        raise Refused(f"{what} must be more than 0, not {value:g}")


def _cluster(spec: ClusterSpec) -> None:
    _number(spec.min_instances, "min_instances")
    _number(spec.max_instances, "max_instances", spec.min_instances)
    _number(spec.idle_s, "idle_time_before_scale_down")
    _number(spec.cores, "the cores of a node")
    _number(spec.price or 0.0, "the price")


def _resize(old: ClusterSpec, wanted: ResizeCluster) -> None:
    least = old.min_instances if wanted.min_instances is None else wanted.min_instances
    most = old.max_instances if wanted.max_instances is None else wanted.max_instances
    _number(least, "min_instances")
    _number(most, "max_instances", least)
    _number(wanted.idle_s or 0.0, "idle_time_before_scale_down")


def _batch(world: World, spec: BatchSpec) -> None:
    _number(spec.files, "the number of files", 1)
    _number(spec.mini_batch_size, "mini_batch_size", 1)
    _number(spec.instance_count, "instance_count", 1)
    _number(spec.concurrency, "max_concurrency_per_instance", 1)
    _number(spec.max_retries, "max_retries")
    _number(spec.error_threshold, "error_threshold", -1)
    _positive(spec.timeout_s, "timeout")
    _workload(spec.workload)
    most = world.clusters[spec.cluster].spec.max_instances
    if world.settings.reject_excess_instances and spec.instance_count > most:
        asked = f"instance_count is {spec.instance_count}"
        raise Refused(f"{asked}, but cluster `{spec.cluster}` has at most {most} nodes")


def _workload(load: BatchWork) -> None:
    _number(load.per_file_s, "the time per file")
    _number(load.per_mini_batch_s, "the time per mini-batch")
    _number(load.cv, "the coefficient of variation")
    _number(load.fail_probability, "the probability to fail", 0, 1)
    for seconds in load.trace:
        _number(seconds, "every service time of the trace")


def _training(world: World, spec: TrainingSpec) -> None:
    _number(spec.steps, "the number of steps", 1)
    _positive(spec.step_s, "the time per step")
    _number(spec.checkpoint_every, "the steps between checkpoints")
    _number(spec.checkpoint_s, "the time to write a checkpoint")
    _number(spec.restore_s, "the time to restore a checkpoint")
    _number(spec.instance_count, "instance_count", 1)
    _number(spec.max_runtime_s or 0.0, "the maximum run time")
    if spec.serverless is None:
        _there(world.clusters, "cluster", spec.cluster)
    elif spec.cluster:
        raise Refused(f"job `{spec.name}` is serverless: it takes no cluster")
    else:
        _unused(world.clusters, "a cluster", spec.serverless.name)


def _preempt(world: World, name: str, numbers: tuple[int, ...] | None) -> None:
    _there(world.clusters, "cluster", name)
    cluster = world.clusters[name]
    if cluster.spec.tier is Tier.DEDICATED:
        raise Refused(f"cluster `{name}` is dedicated: its nodes are never preempted")
    for number in numbers or ():
        if number not in cluster.nodes:
            raise Unknown(f"cluster `{name}` has no node {number}")


def _settings(settings: Settings) -> None:
    for name in ("allocation_s", "preparation_s", "delay_cv", "leave_s", "unusable_recycle_s"):
        _number(getattr(settings, name), name)
    for name in ("restore_window_h", "cancel_grace_s", "min_bill_s", "billing_granularity_s"):
        _number(getattr(settings, name), name)
    _number(settings.replacement_s or 0.0, "replacement_s")
    _number(settings.provisioning_s, "provisioning_s")
    _number(settings.p_unusable, "p_unusable", 0, 1)


def _process(process: Preemption | Capacity) -> None:
    match process:
        case Poisson(rate):
            _positive(rate, "the rate of losses")
        case HyperExponential(rate, cv):
            _positive(rate, "the rate of losses")
            _number(cv, "the coefficient of variation of a hyper-exponential life", 1)
        case Weibull(rate, shape):
            _positive(rate, "the rate of losses")
            _positive(shape, "the shape of a Weibull life")
        case Bathtub():
            for name in ("a", "t1", "t2", "most"):
                _positive(getattr(process, name), f"`{name}` of a bathtub life")
        case Shock(rate, fraction):
            _positive(rate, "the rate of shocks")
            _number(fraction, "the fraction of nodes that a shock hits", 0, 1)
        case OnOff(rate, mean, nodes):
            _positive(rate, "the rate of outages")
            _positive(mean, "the mean outage")
            _number(nodes or 0, "the number of nodes")
        case Script(losses):
            for at, which in losses:
                _number(at, "every second of the script")
                if which != ALL:
                    _whole(which, "every node of the script")
        case Trace() | Steps() | Constant():
            _counts(process)


def _counts(process: Trace | Steps | Constant) -> None:
    match process:
        case Trace(gap, counts):
            _positive(gap, "the gap of a trace")
            if not counts:
                raise Refused("a trace needs at least one number of nodes")
        case Steps(steps):
            counts = tuple(count for _, count in steps)
            for at, _ in steps:
                _number(at, "every second of the capacity script")
        case Constant(nodes):
            counts = (nodes,)
    for count in counts:
        _whole(count, "every number of nodes")


def _whole(value: object, what: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Refused(f"{what} must be a whole number that is not negative, not {value!r}")
