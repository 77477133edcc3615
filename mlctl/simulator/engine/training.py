"""Training jobs: equal steps, checkpoints, and restarts after a preemption.

A run continues from the last complete checkpoint: "All the files ... in the `outputs` and `logs`
folders will be saved". Metrics of runs add up, so steps repeat: "The re-started job will then
append" (hi-ml, Using Cheap Low Priority VMs).
"""

from __future__ import annotations

from mlctl.simulator.engine import nodes, rng
from mlctl.simulator.engine.jobs import JobStatus, StepRange, TrainingJob, TrainingPhase
from mlctl.simulator.engine.model import TrainingSpec
from mlctl.simulator.engine.state import (
    Cluster,
    EventKind,
    Node,
    World,
    log_event,
    log_job_ended,
    schedule,
)

_ROUNDING = 1e-9  # steps; a step that ends in this very second is complete


def wanted_nodes(job: TrainingJob, limit: int) -> int:
    """Return the number of nodes that the job runs on at once, at most `limit`."""
    return min(job.spec.instance_count, limit)


def start(world: World, job: TrainingJob, free_nodes: list[Node]) -> None:
    """Start a run on these nodes, from the last complete checkpoint or from step 0."""
    job.nodes = [node.number for node in free_nodes]
    for node in free_nodes:
        node.job = job.name
    if job.started is None:
        job.started = world.now
        if job.spec.max_runtime_s is not None:
            schedule(world, world.now + job.spec.max_runtime_s, EventKind.DEADLINE, job.name)
    job.status, job.step, job.unsaved_since = JobStatus.RUNNING, job.saved, world.now
    job.runs += 1
    log_event(world, "JOB_RUNNING", job=job.name, run=job.runs, step=job.step)
    if job.saved and job.spec.restore_s:
        _start_phase(world, job, TrainingPhase.RESTORE, job.spec.restore_s)
    else:
        _run_steps(world, job)


def _start_phase(world: World, job: TrainingJob, phase: TrainingPhase, seconds: float) -> None:
    job.phase, job.phase_began = phase, world.now
    job.epoch = world.new_epoch()
    schedule(world, world.now + seconds, EventKind.TRAINING_PHASE_END, job.name, epoch=job.epoch)


def _run_steps(world: World, job: TrainingJob) -> None:
    """Run to the next checkpoint, or to the end."""
    every = job.spec.checkpoint_every
    to = (job.step // every + 1) * every if every else job.spec.steps
    job.target = min(to, job.spec.steps)
    _start_phase(world, job, TrainingPhase.STEPS, (job.target - job.step) * job.spec.step_s)


def phase_over(world: World, cluster: Cluster, job: TrainingJob) -> None:
    """Continue with the next phase of the job."""
    match job.phase:
        case TrainingPhase.RESTORE:
            _run_steps(world, job)
        case TrainingPhase.STEPS:
            _log_steps(world, job, job.target - job.step)
            if job.step == job.spec.steps:
                if rng.uniform(f"{world.seed}/command/{job.name}") < job.spec.fail_probability:
                    end(world, cluster, job, JobStatus.FAILED, "the command failed")
                else:
                    end(world, cluster, job, JobStatus.COMPLETED)
            elif job.spec.checkpoint_s:
                _start_phase(world, job, TrainingPhase.CHECKPOINT, job.spec.checkpoint_s)
            else:
                _checkpoint_complete(world, job)
        case TrainingPhase.CHECKPOINT:
            _checkpoint_complete(world, job)
        case TrainingPhase.WAITING:
            pass


def _checkpoint_complete(world: World, job: TrainingJob) -> None:
    job.saved, job.unsaved_since = job.step, world.now
    log_event(world, "CHECKPOINT", job=job.name, step=job.step)
    _run_steps(world, job)


def _log_steps(world: World, job: TrainingJob, count: int) -> None:
    """Append steps to the metrics; those of earlier runs stay."""
    if count:
        first = job.step + 1
        job.step += count
        job.metric_count += count
        job.metrics.append(StepRange(first, job.step, job.phase_began, job.runs))
        log_event(world, "STEPS", job=job.name, first=first, last=job.step, began=job.phase_began)


def step_at(job: TrainingJob, now: float) -> int:
    """Return the last step that is complete at a time within the current phase."""
    if job.phase is not TrainingPhase.STEPS:
        return job.step
    return min(job.step + int((now - job.phase_began) / job.spec.step_s + _ROUNDING), job.target)


def node_lost(world: World, cluster: Cluster, job: TrainingJob, node: Node) -> None:
    """Interrupt the job: it loses one of its nodes, and an unfinished checkpoint with it."""
    _log_steps(world, job, step_at(job, world.now) - job.step)
    if job.phase is TrainingPhase.CHECKPOINT:
        job.partial_checkpoints.append(job.step)
    job.lost_node_s += (world.now - job.unsaved_since) * len(job.nodes)
    job.phase, job.status, job.epoch = TrainingPhase.WAITING, JobStatus.QUEUED, world.new_epoch()
    job.nodes.remove(node.number)
    _release_nodes(world, cluster, job)
    log_event(world, "JOB_INTERRUPTED", job=job.name, step=job.step, saved=job.saved)


def node_preempted(world: World, cluster: Cluster, job: TrainingJob) -> None:
    """T5: the job is queued and restarted, or cancelled if the settings exclude a restart."""
    if not world.settings.training_auto_restart and job.ended is None:
        end(world, cluster, job, JobStatus.CANCELED, "a node was preempted: submit the job again")


def _release_nodes(world: World, cluster: Cluster, job: TrainingJob) -> None:
    for number in job.nodes:
        node = cluster.nodes[number]
        node.job = ""
        nodes.become_idle(world, cluster, node)
    job.nodes = []


def end(
    world: World, cluster: Cluster, job: TrainingJob, status: JobStatus, reason: str = ""
) -> None:
    """Set the job's final status; its nodes become idle."""
    _log_steps(world, job, step_at(job, world.now) - job.step)
    job.status, job.reason, job.ended, job.phase = status, reason, world.now, TrainingPhase.WAITING
    job.epoch = world.new_epoch()
    cluster.jobs.remove(job.name)
    _release_nodes(world, cluster, job)
    log_job_ended(world, job)


def logged_steps(spec: TrainingSpec, stretches: list[StepRange]) -> list[tuple[float, int]]:
    """Return the metrics that AzureML shows, as (second, step), in the order of logging."""
    return [
        (stretch.began + (step - stretch.first + 1) * spec.step_s, step)
        for stretch in stretches
        for step in range(stretch.first, stretch.last + 1)
    ]


def logged_runs(stretches: list[StepRange]) -> list[int]:
    """Return the run that logged each of `logged_steps`."""
    return [stretch.run for stretch in stretches for _ in range(stretch.first, stretch.last + 1)]
