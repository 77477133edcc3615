"""Lists of jobs: in an order, and read no further than is of use."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from mlctl.backends.azure.job_bodies import job_of
from mlctl.backends.ports.jobs import Job
from mlctl.pointer import Data, get

_LONGEST = timedelta(days=60)  # a job ends after 21 days at the latest, and may wait before that


def newest(bodies: Iterator[dict[str, Data]]) -> list[Job]:
    """The jobs of bodies, the newest first."""
    return sorted(map(job_of, bodies), key=created, reverse=True)


def recent(bodies: Iterator[dict[str, Data]]) -> Iterator[Job]:
    """The jobs of bodies, until one is so much older than the first that it must have ended.

    It holds only while each is older than the one before it: the service promises no order.
    """
    first = last = None
    ordered = True
    for job in map(job_of, bodies):
        at = _moment(job)
        ordered = ordered and at is not None and (last is None or at <= last)
        first, last = first or at, at
        if ordered and first is not None and at is not None and first - at > _LONGEST:
            return
        yield job


def created(job: Job) -> str:
    """When a job was made, as the service writes it."""
    return str(get(job.body, ("systemData", "createdAt")) or "")


def _moment(job: Job) -> datetime | None:
    try:
        return datetime.fromisoformat(created(job))
    except ValueError:
        return None
