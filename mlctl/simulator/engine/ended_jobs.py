"""Remove ended jobs from the world: they never change again, and are rarely needed.

`World.ended_jobs` keeps them if set. The engine's own rules need none of them: they look at running
jobs, and at those that nodes are billed to.
"""

from __future__ import annotations

from mlctl.simulator.engine.commands import EngineError
from mlctl.simulator.engine.jobs import AnyJob
from mlctl.simulator.engine.state import World


def find(world: World, name: str) -> AnyJob | None:
    """Return the job of that name, removed or not; None if it does not exist."""
    job = world.jobs.get(name)
    return world.ended_jobs.get(name) if job is None else job


def every_job(world: World) -> list[AnyJob]:
    """Return all jobs in the order of submission, including removed ones."""
    archived = (job for name, job in world.ended_jobs.items() if name not in world.jobs)
    return sorted((*archived, *world.jobs.values()), key=lambda job: job.serial)


def check_new_name(world: World, name: str) -> None:
    """Check that a new job may have a name.

    Raises:
        EngineError: it is empty, or a job has it.
    """
    if not name or find(world, name) is not None:
        raise EngineError(f"a job `{name}` already exists" if name else "a job needs a name")


def check_not_ended(world: World, name: str) -> None:
    """Check that a job exists and has not ended.

    Raises:
        EngineError: it does not exist, or has ended.
    """
    job = find(world, name)
    if job is None:
        raise EngineError(f"there is no job `{name}`")
    if job.ended is not None:
        raise EngineError(f"job `{name}` has already ended: it is {job.status.value}")


def may_leave(world: World) -> set[str]:
    """Return the names of jobs that nothing can change any more.

    An ended job is still billed for nodes that idle, and its group may still look at it.
    """
    payers = {node.payer for cluster in world.clusters.values() for node in cluster.nodes.values()}
    return {
        name
        for name, job in world.jobs.items()
        if job.ended is not None and name not in payers and not _is_awaited(world, job)
    }


def _is_awaited(world: World, job: AnyJob) -> bool:
    """Whether the job's group has not ended."""
    group = world.jobs.get(job.group)
    return group is not None and group.ended is None
