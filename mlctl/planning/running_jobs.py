"""Find unfinished jobs on resources that a plan deletes or replaces."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from mlctl.backends.ports.backend import Backend
from mlctl.backends.ports.jobs import Job, SupportsJobs
from mlctl.dataclasses import replace
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.kinds import Address, kind_of
from mlctl.planning.model import Action, Change, Plan, RunningJob
from mlctl.pointer import Data
from mlctl.service_errors import ServiceError

RUNNING_JOBS = Rule("MLC417", "running-jobs", Severity.WARNING)
_SHOWN = 3  # jobs that a finding names


def with_running_jobs(
    plan: Plan, used_by: Mapping[Address, Sequence[Address]], backend: Backend
) -> Plan:
    """Add to the plan the unfinished jobs on what it deletes or replaces, with warnings.

    Jobs are only read if there is such a change. `used_by` are a cluster's deployments: the service
    does not report where their jobs run.
    """
    hit = [
        change
        for change in plan.changes
        if change.action.deletes and kind_of(change.address).plan.named_in_jobs
    ]
    if not (hit and isinstance(backend, SupportsJobs)):
        return plan
    try:
        unfinished = backend.jobs.unfinished()
    except ServiceError as error:
        # Of a parent that is deleted, too, the warning names all jobs.
        deleted = {change.address for change in hit}
        warnings = [
            _warn_unknown(change, str(error)) for change in hit if change.address.up not in deleted
        ]
        with_jobs = {change.address: replace(change, jobs=None) for change in hit}
    else:
        with_jobs = {
            change.address: replace(change, jobs=_jobs_of(change.address, unfinished, used_by))
            for change in hit
        }
        warnings = [*_warnings([*with_jobs.values()])]
    changes = tuple(with_jobs.get(change.address, change) for change in plan.changes)
    return replace(plan, changes=changes, warnings=(*plan.warnings, *warnings))


def _jobs_of(
    address: Address, jobs: Sequence[Job], used_by: Mapping[Address, Sequence[Address]]
) -> tuple[RunningJob, ...]:
    here = (job for job in jobs if _is_on(job, address, used_by.get(address, ())))
    return tuple(RunningJob(job.name, job.status) for job in here)


def _is_on(job: Job, address: Address, users: Sequence[Address] = ()) -> bool:
    """Whether a body names a resource or, if it names none of its kind, one of its users."""
    names = set(_names_at(job.body["properties"], kind_of(address).plan.named_in_jobs))
    if not names:
        return any(_is_on(job, user) for user in users)
    is_named = address.name.casefold() in names
    return is_named and (address.up is None or _is_on(job, address.up))


def _names_at(value: Data, keys: Collection[str]) -> Iterator[str]:
    """Yield the names (last parts of ids) at any of the keys, anywhere in a body."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in keys and isinstance(inner, str):
                yield inner.rpartition("/")[2].casefold()
            else:
                yield from _names_at(inner, keys)
    elif isinstance(value, list):
        for inner in value:
            yield from _names_at(inner, keys)


def _warnings(changes: Sequence[Change]) -> Iterator[Diagnostic]:
    """Yield a warning for each change with its jobs, failing ones first; each job once."""
    warned: set[str] = set()
    for change in sorted(changes, key=_rank):
        jobs = [job for job in change.jobs or () if job.name not in warned]
        if jobs:
            warned |= {job.name for job in jobs}
            yield _finding(change, jobs)


def _rank(change: Change) -> tuple[bool, bool]:
    kind = kind_of(change.address)
    return not kind.plan.ends_jobs, kind.parent is not None


def _finding(change: Change, jobs: Sequence[RunningJob]) -> Diagnostic:
    is_single, address = len(jobs) == 1, change.address
    names = ", ".join(f"{job.name} ({job.status})" for job in jobs[:_SHOWN])
    others = f" and {len(jobs) - _SHOWN} more" if len(jobs) > _SHOWN else ""
    count = "1 job" if is_single else f"{len(jobs)} jobs"
    if kind_of(address).plan.ends_jobs:
        verb = "runs or waits" if is_single else "run or wait"
        fails = "fails" if is_single else "fail"
        text = (
            f"{count} {verb} on {address}, and {fails} when it is {_done(change)}: {names}{others}"
        )
        hint = "wait until they have ended, or cancel them"
    else:
        goes = "it continues, but is" if is_single else "they continue, but are"
        text = f"{count} of {address} {'has' if is_single else 'have'} not ended: {names}{others}"
        text += f"; {goes} no longer listed by it"
        hint = "note the names: `mlctl job show -n NAME` still finds them"
    if is_single:
        hint = hint.replace("they have", "it has").replace("them", "it").replace("names", "name")
    return change.finding(RUNNING_JOBS, text, change.cause, hint)


def _warn_unknown(change: Change, why: str) -> Diagnostic:
    message = (
        f"{change.address} would be {_done(change)}, but it is unknown if jobs run on it: {why}"
    )
    hint = "check in the studio, or ask somebody who can list the workspace's jobs"
    return change.finding(RUNNING_JOBS, message, change.cause, hint)


def _done(change: Change) -> str:
    return "replaced" if change.action is Action.REPLACE else "deleted"
