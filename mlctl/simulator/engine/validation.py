"""Check commands before they change anything; each error is one sentence."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from math import inf, isfinite

from mlctl.simulator.engine import commands, model
from mlctl.simulator.engine.ended_jobs import check_new_name, check_not_ended
from mlctl.simulator.engine.processes import (
    ALL,
    Bathtub,
    ByHour,
    CapacityProcess,
    CapacitySteps,
    Constant,
    HyperExponential,
    LossScript,
    OnOff,
    Poisson,
    PreemptionProcess,
    Shock,
    Trace,
    Weibull,
)
from mlctl.simulator.engine.state import World

_HOURS = 24  # of a day
_MOST_CV = 1000


def check_command(world: World, command: commands.Command) -> None:
    """Check that a command can be carried out now.

    Raises:
        EngineError: it names something that does not exist, or asks for something impossible.
    """
    match command:
        case commands.AddCluster(spec):
            _check_unused(world.clusters, "a cluster", spec.name)
            _check_cluster(spec)
        case commands.ResizeCluster(name):
            _check_exists(world.clusters, "cluster", name)
            _check_resize(world.clusters[name].spec, command)
        case commands.DeleteCluster(name):
            _check_exists(world.clusters, "cluster", name)
            if world.clusters[name].locked:
                raise commands.EngineError(
                    f"cluster `{name}` cannot be deleted: a resource lock blocks it"
                )
        case commands.SetLock(name):
            _check_exists(world.clusters, "cluster", name)
        case commands.SubmitBatch(spec):
            check_new_name(world, spec.name)
            _check_exists(world.clusters, "cluster", spec.cluster)
            _check_batch(world, spec)
        case commands.SubmitTraining(spec):
            check_new_name(world, spec.name)
            _check_training(world, spec)
        case commands.CancelJob(name):
            check_not_ended(world, name)
        case commands.Preempt(name, numbers):
            _check_preempt(world, name, numbers)
        case _:
            _check_admin_command(world, command)


def _check_admin_command(world: World, command: commands.Command) -> None:
    match command:
        case commands.SetPreemption(processes):
            _check_processes(processes)
        case commands.SetCapacity(capacity):
            _check_processes(() if capacity is None else (capacity,))
        case commands.SetQuotas(limits):
            _check_quotas(limits)
        case commands.Configure(settings):
            check_settings(settings)
        case commands.AddPool(spec):
            _check_unused(world.pools, "a pool", spec.name)
            _check_number(spec.vms, "the number of VMs")
            _check_number(spec.price or 0.0, "the price")
        case commands.ResizePool(name, vms):
            _check_exists(world.pools, "pool", name)
            _check_number(vms, "the number of VMs")
        case commands.DeletePool(name):
            _check_exists(world.pools, "pool", name)
        case commands.SubmitPoolJob(name, duration, where):
            check_new_name(world, name)
            _check_number(duration, "the duration")
            if where is not None:
                _check_exists(world.pools, "pool", where)
        case commands.SetSharedQueue(settings):
            _check_number(settings.slots, "the number of jobs at once", 1)
            _check_number(settings.arrivals, "the rate of arrivals")
            _check_positive(settings.mean_s, "the mean duration")
        case _:
            raise AssertionError(command)


def _check_processes(processes: Iterable[PreemptionProcess | CapacityProcess]) -> None:
    for process in processes:
        _check_process(process)


def _check_quotas(limits: Iterable[tuple[str, int]]) -> None:
    for name, cores in limits:
        _check_number(cores, f"the quota `{name}`")


def _check_exists(existing: Collection[str], kind: str, name: str) -> None:
    if name not in existing:
        raise commands.EngineError(f"there is no {kind} `{name}`")


def _check_unused(existing: Collection[str], kind: str, name: str) -> None:
    if not name or name in existing:
        raise commands.EngineError(
            f"{kind} `{name}` already exists" if name else f"{kind} needs a name"
        )


def _check_number(value: float, name: str, least: float = 0, greatest: float = inf) -> None:
    if not (isfinite(value) and least <= value <= greatest):
        bounds = f"at least {least:g}" if greatest == inf else f"between {least:g} and {greatest:g}"
        raise commands.EngineError(f"{name} must be {bounds}, not {value:g}")


def _check_positive(value: float, name: str) -> None:
    if not (isfinite(value) and value > 0):
        raise commands.EngineError(f"{name} must be more than 0, not {value:g}")


def _check_cluster(spec: model.ClusterSpec) -> None:
    _check_number(spec.min_instances, "min_instances")
    _check_number(spec.max_instances, "max_instances", spec.min_instances)
    _check_number(spec.idle_s, "idle_time_before_scale_down")
    _check_number(spec.cores, "the cores of a node")
    _check_number(spec.price or 0.0, "the price")


def _check_resize(old: model.ClusterSpec, new: commands.ResizeCluster) -> None:
    least = old.min_instances if new.min_instances is None else new.min_instances
    greatest = old.max_instances if new.max_instances is None else new.max_instances
    _check_number(least, "min_instances")
    _check_number(greatest, "max_instances", least)
    _check_number(new.idle_s or 0.0, "idle_time_before_scale_down")


def check_batch_figures(spec: model.BatchSpec) -> None:
    """Check the numbers of a batch job.

    Raises:
        EngineError: one is not valid.
    """
    _check_number(spec.files, "the number of files", 1)
    _check_number(spec.mini_batch_size, "mini_batch_size", 1)
    _check_number(spec.instance_count, "instance_count", 1)
    _check_number(spec.concurrency, "max_concurrency_per_instance", 1)
    _check_number(spec.max_retries, "max_retries")
    _check_number(spec.error_threshold, "error_threshold", -1)
    _check_positive(spec.timeout_s, "timeout")
    _check_number(spec.workload.per_file_s, "the time per file")
    _check_number(spec.workload.per_mini_batch_s, "the time per mini-batch")
    _check_number(spec.workload.per_start_s, "the time to start on a node")
    _check_number(spec.workload.cv, "the coefficient of variation")
    _check_number(spec.workload.fail_probability, "the probability to fail", 0, 1)
    for seconds in spec.workload.trace:
        _check_number(seconds, "every service time of the trace")


def _check_batch(world: World, spec: model.BatchSpec) -> None:
    check_batch_figures(spec)
    limit = world.clusters[spec.cluster].spec.max_instances
    if world.settings.reject_excess_instances and spec.instance_count > limit:
        instances = f"instance_count is {spec.instance_count}"
        raise commands.EngineError(
            f"{instances}, but cluster `{spec.cluster}` has at most {limit} nodes"
        )


def _check_training(world: World, spec: model.TrainingSpec) -> None:
    _check_number(spec.steps, "the number of steps", 1)
    _check_number(spec.first, "the steps of its checkpoint", 0, spec.steps - 1)
    _check_positive(spec.step_s, "the time per step")
    _check_number(spec.checkpoint_every, "the steps between checkpoints")
    _check_number(spec.checkpoint_s, "the time to write a checkpoint")
    _check_number(spec.restore_s, "the time to restore a checkpoint")
    _check_number(spec.instance_count, "instance_count", 1)
    _check_number(spec.max_runtime_s or 0.0, "the maximum run time")
    _check_number(spec.fail_probability, "the probability to fail", 0, 1)
    if spec.serverless is None:
        _check_exists(world.clusters, "cluster", spec.cluster)
    elif spec.cluster:
        raise commands.EngineError(f"job `{spec.name}` is serverless: it cannot name a cluster")
    else:
        _check_unused(world.clusters, "a cluster", spec.serverless.name)


def _check_preempt(world: World, name: str, numbers: tuple[int, ...] | None) -> None:
    _check_exists(world.clusters, "cluster", name)
    cluster = world.clusters[name]
    if cluster.spec.tier is model.Tier.DEDICATED:
        raise commands.EngineError(f"cluster `{name}` is dedicated: its nodes are never preempted")
    for number in numbers or ():
        if number not in cluster.nodes:
            raise commands.EngineError(f"cluster `{name}` has no node {number}")


def check_settings(settings: model.SimulationSettings) -> None:
    """Check the numbers of the settings.

    Raises:
        EngineError: one of them is invalid.
    """
    for name in ("allocation_s", "preparation_s", "leave_s", "unusable_recycle_s"):
        _check_number(getattr(settings, name), name)
    for name in ("restore_window_h", "cancel_grace_s", "min_bill_s", "billing_granularity_s"):
        _check_number(getattr(settings, name), name)
    for name in ("replacement_s", "progress_update_timeout_s"):
        _check_number(getattr(settings, name) or 0.0, name)
    _check_number(settings.first_task_creation_timeout_s, "first_task_creation_timeout_s")
    _check_number(settings.provisioning_s, "provisioning_s")
    _check_number(settings.delay_cv, "delay_cv", 0, _MOST_CV)
    _check_number(settings.p_unusable, "p_unusable", 0, 1)


def _check_process(process: PreemptionProcess | CapacityProcess) -> None:
    match process:
        case Poisson(rate, by_hour):
            _check_positive(rate, "the rate of losses")
            _check_by_hour(by_hour)
        case HyperExponential(rate, cv):
            _check_positive(rate, "the rate of losses")
            _check_number(cv, "the coefficient of variation of a hyper-exponential life", 1)
        case Weibull(rate, shape):
            _check_positive(rate, "the rate of losses")
            _check_positive(shape, "the shape of a Weibull life")
        case Bathtub():
            for name in ("a", "t1", "t2", "most"):
                _check_positive(getattr(process, name), f"`{name}` of a bathtub life")
        case Shock(rate, fraction, by_hour):
            _check_positive(rate, "the rate of shocks")
            _check_positive(fraction, "the fraction of nodes that a shock hits")
            _check_number(fraction, "the fraction of nodes that a shock hits", 0, 1)
            _check_by_hour(by_hour)
        case OnOff(rate, mean, nodes, cv, by_hour):
            _check_positive(rate, "the rate of outages")
            _check_positive(mean, "the mean outage")
            _check_number(nodes or 0, "the number of nodes")
            _check_number(cv or 0.0, "the coefficient of variation of outages")
            _check_by_hour(by_hour)
        case LossScript(losses):
            for at, node in losses:
                _check_number(at, "every second of the script")
                if node != ALL:
                    _check_whole_number(node, "every node of the script")
        case Trace() | CapacitySteps() | Constant():
            _check_counts(process)


def _check_by_hour(by_hour: ByHour | None) -> None:
    if by_hour is None:
        return
    if len(by_hour.factors) != _HOURS or not any(by_hour.factors):
        raise commands.EngineError("hourly factors must be 24 numbers, not all of them 0")
    for factor in by_hour.factors:
        _check_number(factor, "every hourly factor")
    _check_number(by_hour.start_s, "the time of day")


def _check_counts(process: Trace | CapacitySteps | Constant) -> None:
    match process:
        case Trace(gap, counts):
            _check_positive(gap, "the gap of a trace")
            if not counts:
                raise commands.EngineError("a trace needs at least one number of nodes")
        case CapacitySteps(steps):
            counts = tuple(count for _, count in steps)
            for at, _ in steps:
                _check_number(at, "every second of the capacity script")
        case Constant(nodes):
            counts = (nodes,)
    if {*map(type, counts)} == {int} and min(counts) >= 0:
        return  # a trace is long, and every history of a forecast sets it
    for count in counts:
        _check_whole_number(count, "every number of nodes")


def _check_whole_number(value: object, name: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise commands.EngineError(
            f"{name} must be a whole number that is not negative, not {value!r}"
        )
