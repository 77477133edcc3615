"""Apply a plan under the project's lease, with a journal."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from mlctl.applying.events import StepEvent
from mlctl.applying.executor import apply as run_steps
from mlctl.applying.lease import LeaseRequest, under_lease
from mlctl.applying.outcome import Outcome, collect
from mlctl.backends.ports.backend import Backend
from mlctl.dataclasses import dataclass, field
from mlctl.kinds import Address, Resource
from mlctl.kinds.property_names import field_of
from mlctl.planning.model import Action
from mlctl.planning.steps.work import Work
from mlctl.planning.unfinished.journal import JournalFile, Journals
from mlctl.planning.unfinished.snapshots import Snapshots
from mlctl.pointer import dotted
from mlctl.render.findings.machine import place
from mlctl.render.plan import unfinished
from mlctl.service_errors import PropertyError
from mlctl.workflow.model import NewText, Planned, ignore
from mlctl.workflow.renaming import WriteError, write_texts

PARALLELISM = 10


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Execution:
    """Work to carry out; without `wait` a write is done once it is accepted.

    `actions` are what the plan does to each resource. `resources` are those that files declare, by
    the plan's addresses. `lease` is the one to hold, if any. `texts` are written into files first.
    `paths` are the planned files, or the plan. `deleted` is what must be gone afterwards, whether
    it exists or not.
    """

    work: Work
    actions: Mapping[Address, Action]
    resources: Mapping[Address, Resource] = field(default_factory=dict)
    parallelism: int = PARALLELISM
    wait: bool = True
    lease: LeaseRequest | None = None
    texts: Mapping[Path, NewText] = field(default_factory=dict)
    paths: Sequence[str] = ()
    deleted: Collection[Address] = ()

    @classmethod
    def of(
        cls,
        planned: Planned,
        *,
        parallelism: int = PARALLELISM,
        wait: bool = True,
        lease: LeaseRequest | None = None,
        paths: Sequence[str] = (),
        destroying: bool = False,
    ) -> Execution:
        """Build the execution of a plan."""
        changes = planned.plan.changes
        return cls(
            work=planned.work,
            actions={change.address: change.action for change in changes},
            resources={
                change.address: change.resource for change in changes if change.resource is not None
            },
            parallelism=parallelism,
            wait=wait,
            lease=lease,
            texts=planned.texts,
            paths=paths,
            deleted=planned.graph.resources if destroying else (),
        )


Show = Callable[[Iterator[StepEvent], Execution], Outcome]


def collect_silently(events: Iterator[StepEvent], execution: Execution) -> Outcome:
    """Collect the events into an outcome, without showing them."""
    return collect(events, execution.work, execution.actions, ignore)


def apply_plan(
    execution: Execution,
    backend: Backend,
    journals: Journals | None,
    stop: threading.Event,
    *,
    show: Show = collect_silently,
    note: Callable[[str], object] = ignore,
) -> Outcome:
    """Apply a plan; `show` receives the events of steps as they happen, and sums them up.

    Once `stop` is set nothing new starts. Without journals, what a killed process has removed is
    unknown to the next one.

    Raises:
        LeaseHeld: another apply of the project is running; nothing was begun.
        WriteError: a file cannot be written; nothing was begun.
        ServiceError: the service that keeps leases or journals cannot be reached.
    """
    open_journals = journals.unfinished() if journals else []
    lease = execution.lease if execution.work.steps or open_journals else None
    with under_lease(backend, lease, stop) as leased:
        journal = journals.new(datetime.now(UTC), execution.paths) if journals else None
        if (
            execution.texts and not stop.is_set()
        ):  # otherwise somebody stopped the wait for the lease
            _write_texts(execution, journal, note)
        events = run_steps(
            execution.work,
            leased,
            parallelism=execution.parallelism,
            stop=stop,
            wait=execution.wait,
            journal=journal,
        )
        outcome = show(with_places(events, execution.resources), execution)
        deleted = {*execution.deleted, *outcome.gone}
        for remaining in journals.settle(backend, deleted) if journals else ():
            note(unfinished.remaining_work(remaining.unfinished, remaining.path, execution.paths))
        return outcome


def _write_texts(
    execution: Execution, journal: JournalFile | None, note: Callable[[str], object]
) -> None:
    """Write the files, once the journal has what only the workspace knows of the old names."""
    Snapshots(execution.work, journal).begin()
    try:
        write_texts(execution.texts, note)
    except WriteError:
        if journal is not None:
            journal.keep(())
        raise


def with_places(
    events: Iterable[StepEvent], resources: Mapping[Address, Resource]
) -> Iterator[StepEvent]:
    """Add to each event the place of the property that its error is about.

    `resources` are those that files declare. A field that the file leaves out gets the place of its
    document.
    """
    for event in events:
        resource = resources.get(event.step.change)
        if event.error is not None and resource is not None:
            event.error.properties = tuple(
                _locate_error(error, resource) for error in event.error.properties
            )
        yield event


def _locate_error(error: PropertyError, resource: Resource) -> PropertyError:
    field = field_of(resource.form, error.name)
    if field is None:
        return error
    label = resource.label(field.at, key=resource.get(*map(str, field.at)) is None)
    return PropertyError(dotted(field.at), error.message, place(label.span))
