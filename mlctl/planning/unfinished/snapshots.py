"""Write what an apply must not lose to a journal before it is removed."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Protocol

from mlctl import masking, pointer
from mlctl.kinds import Address, kind_of
from mlctl.kinds.values import overlay
from mlctl.planning.model import Unfinished
from mlctl.planning.steps.work import PlanStep, Work
from mlctl.pointer import Data, Pointer


class Journal(Protocol):
    """Where an apply records what it has yet to restore."""

    def write(self, unfinished: Iterable[Unfinished]) -> None:
        """Add or replace unfinished entries; they survive the process once this returns.

        Raises:
            ServiceError: it cannot be written.
        """


class Snapshots:
    """The bodies of resources that are deleted and recreated: in memory, and in a journal."""

    def __init__(self, work: Work, journal: Journal | None = None) -> None:
        self._journal = journal
        self._bodies: dict[Address, Mapping[str, Data]] = {}
        self._journalled: dict[Address, Unfinished] = {}
        self._lock = threading.Lock()  # steps run in parallel
        steps_by_target = defaultdict[Address, list[PlanStep]](list)
        for step in work.steps:
            steps_by_target[step.target].append(step)
        # The last step on each target, and the body before it. What is written once never lacks
        # what it had, except for a successor, which had nothing.
        self._last_steps: dict[Address, tuple[Mapping[str, Data], PlanStep]] = {}
        for target, steps in steps_by_target.items():
            last = steps[-1]
            if len(steps) > 1:
                self._last_steps[target] = steps[-2].body, last
            elif last.restoration.routes_before is not None:
                self._last_steps[target] = last.restoration.routes_before, last

    def begin(self) -> None:
        """Record what the plan will remove and restore; the steps may add to it.

        Raises:
            ServiceError: the journal cannot be written.
        """
        self._write({at: last.restoration.base for at, (_, last) in self._last_steps.items()})

    def take(self, bodies: Mapping[Address, Mapping[str, Data]]) -> None:
        """Keep bodies that were read just before they are deleted.

        Raises:
            ServiceError: the journal cannot be written.
        """
        with self._lock:
            self._bodies.update(bodies)
            self._write({at: body for at, body in bodies.items() if at in self._last_steps})

    def body(self, address: Address) -> Mapping[str, Data] | None:
        """Return what this apply has deleted; None if it has not."""
        return self._bodies.get(address)

    def _write(self, previous: Mapping[Address, Mapping[str, Data] | None]) -> None:
        if self._journal is None:
            return
        unfinished = (
            unfinished_until(*self._last_steps[at], body) for at, body in previous.items()
        )
        new = {
            entry.address: entry
            for entry in unfinished
            if entry and entry != self._journalled.get(entry.address)
        }
        if new:
            self._journal.write(new.values())
            self._journalled |= new


def unfinished_until(
    earlier_body: Mapping[str, Data], last: PlanStep, previous: Mapping[str, Data] | None
) -> Unfinished | None:
    """Return what a resource lacks until its last step is done; None if files declare it all.

    `earlier_body` is what the step before that one writes. `previous` is the body before the
    delete, or the predecessor's; None if only its requests are sent elsewhere.
    """
    if last.deletes:
        return None
    written = (at for at, _ in pointer.leaves(last.body))
    body = overlay(previous, {}, (*last.without, *written)) if previous else {}
    for at in last.restoration.fields:
        pointer.put(body, at, pointer.get(last.body, at))
    secrets = _drop_secrets(last.target, body)
    body = _without_empty(body)
    if not (body or secrets):
        return None
    wires = [field.wire for field in kind_of(last.target).route_fields]
    meanwhile = pointer.nest({at: pointer.get(earlier_body, at) for at in wires})
    return Unfinished(
        last.target,
        body,
        deleted=last.restoration.base is not None,
        meanwhile=_without_empty(meanwhile),
        secrets=secrets,
        moved=last.restoration.routes_before is not None,
    )


def _drop_secrets(address: Address, body: dict[str, Data]) -> tuple[str, ...]:
    """Remove what looks like a secret, and return its places."""
    for form in kind_of(address).forms:
        for field in form.fields:
            if field.secret:
                pointer.drop(body, field.wire)
    holders = [_holder(at) for at in masking.places(body)]
    for at in holders:
        pointer.drop(body, at)
    return tuple(dict.fromkeys(pointer.dotted(at) for at in holders))


def _holder(at: Pointer) -> Pointer:
    """Return the pointer up to the first list: a list is handled as a whole."""
    end = next((end for end, key in enumerate(at) if isinstance(key, int)), len(at))
    return at[:end]


def _without_empty(body: Mapping[str, Data]) -> dict[str, Data]:
    full = {
        key: _without_empty(value) if isinstance(value, dict) else value
        for key, value in body.items()
    }
    return {key: value for key, value in full.items() if value not in ({}, [], None)}
