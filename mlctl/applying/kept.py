"""What an apply must not lose on its way: told to a journal before it is taken away."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Protocol

from mlctl import masking, pointer
from mlctl.kinds import kind_of
from mlctl.kinds.address import Address
from mlctl.kinds.values import overlay
from mlctl.planning.steps.work import Step, Work
from mlctl.planning.unfinished.owed import Owed
from mlctl.pointer import Data, Pointer


class Journal(Protocol):
    """Where an apply writes down what it has yet to put back."""

    def write(self, owed: Iterable[Owed]) -> None:
        """Add what is owed, or say it anew; it outlives the process once this returns.

        Raises:
            ServiceError: it cannot be written.
        """


class Kept:
    """The bodies of what is deleted and made anew: in memory, and as far as owed in a journal."""

    def __init__(self, work: Work, journal: Journal | None = None) -> None:
        self._journal = journal
        self._bodies: dict[Address, Mapping[str, Data]] = {}
        self._told: dict[Address, Owed] = {}
        self._lock = threading.Lock()  # steps run at once
        steps = defaultdict[Address, list[Step]](list)
        for step in work.steps:
            steps[step.target].append(step)
        # What is written once is never without what it had, but a successor, which had nothing.
        self._ends = {
            one: (told[-2].body if len(told) > 1 else told[-1].until or {}, told[-1])
            for one, told in steps.items()
            if len(told) > 1 or told[-1].until is not None
        }

    def begin(self) -> None:
        """Write down what the plan will take away and put back; the steps may know more.

        Raises:
            ServiceError: the journal cannot be written.
        """
        self._write({one: last.base for one, (_, last) in self._ends.items()})

    def keep(self, bodies: Mapping[Address, Mapping[str, Data]]) -> None:
        """Keep bodies that were read just before they are deleted.

        Raises:
            ServiceError: the journal cannot be written.
        """
        with self._lock:
            self._bodies.update(bodies)
            self._write({one: body for one, body in bodies.items() if one in self._ends})

    def body(self, address: Address) -> Mapping[str, Data] | None:
        """What this apply has deleted; None where it has not."""
        return self._bodies.get(address)

    def _write(self, had: Mapping[Address, Mapping[str, Data] | None]) -> None:
        if self._journal is None:
            return
        found = (owed(*self._ends[one], body) for one, body in had.items())
        new = {one.address: one for one in found if one and one != self._told.get(one.address)}
        if new:
            self._journal.write(new.values())
            self._told |= new


def owed(before: Mapping[str, Data], last: Step, had: Mapping[str, Data] | None) -> Owed | None:
    """What a resource lacks until the last step on it is done; None where files say all of it.

    `before` is the body that the step before that one says. `had` is the body before it is deleted,
    or that of what it takes the place of; None where only its requests are sent elsewhere.
    """
    if last.deletes:
        return None
    told = (at for at, _ in pointer.leaves(last.body))
    body = overlay(had or {}, {}, (*last.without, *told)) if had else {}
    for at in last.kept:
        pointer.put(body, at, pointer.get(last.body, at))
    secrets = _drop_secrets(last.target, body)
    body = _without_empty(body)
    if not (body or secrets):
        return None
    wires = [one.wire for one in kind_of(last.target).route_fields]
    meanwhile = pointer.nest({at: pointer.get(before, at) for at in wires})
    deleted = last.base is not None
    moved = last.until is not None
    return Owed(last.target, body, deleted, _without_empty(meanwhile), secrets, moved)


def _drop_secrets(address: Address, body: dict[str, Data]) -> tuple[str, ...]:
    """Remove what looks like a secret; where it was."""
    for form in kind_of(address).forms:
        for field in form.fields:
            if field.secret:
                pointer.drop(body, field.wire)
    found = [_holder(at) for at in masking.places(body)]
    for at in found:
        pointer.drop(body, at)
    return tuple(dict.fromkeys(pointer.dotted(at) for at in found))


def _holder(at: Pointer) -> Pointer:
    """The pointer as far as it goes by keys: an item of a list goes with its list."""
    end = next((end for end, step in enumerate(at) if isinstance(step, int)), len(at))
    return at[:end]


def _without_empty(body: Mapping[str, Data]) -> dict[str, Data]:
    kept = {
        key: _without_empty(held) if isinstance(held, dict) else held for key, held in body.items()
    }
    return {key: held for key, held in kept.items() if held not in ({}, [], None)}
