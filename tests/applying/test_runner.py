"""One step: what is said of a write when the service goes away, or others do the same."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pytest

from mlctl.applying.events import RetryOptions, StepEvent, StepState
from mlctl.applying.executor import apply
from mlctl.applying.outcome import collect
from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.backend import Backend, Live, Operation
from mlctl.kinds.address import Address
from mlctl.planning.model import Action
from mlctl.planning.steps.work import Work
from mlctl.service_errors import Permanent, ServiceError, Transient, Unavailable
from mlctl.simulator.control_plane import control
from mlctl.simulator.control_plane.faults import CallFault, FaultKind
from mlctl.simulator.control_plane.state.store import Store
from tests.builders.plans import carried_out, outcomes, planned, writes
from tests.builders.resources import compute, model
from tests.builders.workspace import SCOPE, Watched, bodies, cloud

AWAY = Transient("Unavailable", "nobody there", ambiguous=True)
CLUSTERS = [compute(f"cluster-{name}") for name in "abcde"]
SOON = RetryOptions(attempts=3, base=0)


class Leaving(Watched):
    """A backend that is not there any more once it has taken so many writes."""

    taken = 1
    error: ServiceError = AWAY
    reads_while_away = 0

    @property
    def away(self) -> bool:
        return len(self.told) >= self.taken

    def read(self, addresses: Collection[Address]) -> dict[Address, Live]:
        if self.away:
            self.reads_while_away += 1
            raise self.error
        return super().read(addresses)

    def put(self, address: Address, body: Mapping[str, Any]) -> Operation:
        if self.away:
            raise self.error
        return super().put(address, body)


def last_of(events: list[StepEvent]) -> dict[str, StepEvent]:
    """The last event of each target."""
    return {event.step.target.name: event for event in events}


def one_by_one(work: Work, backend: Backend) -> list[StepEvent]:
    return carried_out(work, backend, parallelism=1, retry=SOON)


def test_a_write_that_was_taken_and_cannot_be_read_back_is_done() -> None:
    inner = cloud()
    events = one_by_one(planned(inner, CLUSTERS[0]).work, Leaving(inner))
    (*_, last) = events
    assert (last.state, last.wrote, last.verified) == (StepState.DONE, True, False)
    assert isinstance(last.error, Transient)
    assert set(bodies(inner)) == {"compute/cluster-a"}


def test_a_read_back_that_is_refused_leaves_the_write_done_too() -> None:
    inner = cloud()
    backend = Leaving(inner)
    backend.error = Permanent("Forbidden", "you may write", status=403)
    backend.taken = 1
    (*_, last) = one_by_one(planned(inner, model()).work, backend)
    assert (last.state, last.verified) == (StepState.DONE, False)


def test_without_a_service_nothing_new_is_started() -> None:
    inner = cloud()
    backend = Leaving(inner)
    backend.taken = 2
    events = last_of(one_by_one(planned(inner, *CLUSTERS).work, backend))
    assert [events[one].state.value for one in sorted(events)] == [
        "done",
        "done",
        "cancelled",
        "cancelled",
        "cancelled",
    ]
    assert not events["cluster-b"].verified
    causes = {event.because.target.name for event in events.values() if event.because}
    assert causes == {"cluster-b"}
    assert backend.reads_while_away == SOON.attempts


def test_the_step_that_ran_out_of_attempts_failed_and_the_rest_was_not_started() -> None:
    backend = cloud()
    control.add_fault(
        backend.handle, CallFault(FaultKind.THROTTLE, "put", "compute", times=None, seconds=0)
    )
    events = one_by_one(planned(backend, *CLUSTERS).work, backend)
    assert sorted(outcomes(events).values()) == ["cancelled"] * 4 + ["failed"]
    retried = [event for event in events if event.state is StepState.RETRYING]
    assert len(retried) == SOON.attempts - 1
    assert bodies(backend) == {}


def test_what_runs_already_ends_as_it_ends() -> None:
    """Two at once: the one that is served goes on while the other runs out of attempts."""
    backend = cloud()
    fault = CallFault(FaultKind.THROTTLE, "put", "compute/cluster-a", times=None, seconds=20)
    control.add_fault(backend.handle, fault)
    work = planned(backend, *CLUSTERS).work
    events = carried_out(work, backend, parallelism=2, retry=SOON)
    ended = last_of(events)
    assert ended["cluster-a"].state is StepState.FAILED
    assert ended["cluster-b"].state is StepState.DONE
    assert {ended[f"cluster-{one}"].state for one in "cde"} == {StepState.CANCELLED}


def test_a_write_that_was_accepted_and_of_which_nothing_more_is_known_failed_but_wrote() -> None:
    class Silent(Leaving):
        def put(self, address: Address, body: Mapping[str, Any]) -> Operation:
            super().put(address, body)
            return _Unanswered()

    inner = cloud()
    (*_, last) = one_by_one(planned(inner, CLUSTERS[0]).work, Silent(inner))
    assert (last.state, last.wrote) == (StepState.FAILED, True)


class _Unanswered:
    """An operation that nobody can ask about."""

    created = True

    def wait(self) -> None:
        raise AWAY


def test_stopped_while_it_is_read_back_a_write_is_done() -> None:
    stop, inner = threading.Event(), cloud()

    class Impatient(Leaving):
        def wait(self, seconds: float) -> None:
            stop.set()

    work = planned(inner, CLUSTERS[0]).work
    (*_, last) = apply(work, Impatient(inner), parallelism=1, stop=stop, retry=SOON)
    assert (last.state, last.wrote, last.verified) == (StepState.DONE, True, False)


@pytest.mark.parametrize("resource", [compute(), model()], ids=["long", "at once"])
def test_what_another_made_in_the_same_moment_is_there_and_not_claimed(resource: Any) -> None:
    class Beaten(Watched):
        def put(self, address: Address, body: Mapping[str, Any]) -> Operation:
            self.inner.put(address, body).wait()
            return self.inner.put(address, body)

    backend = cloud()
    events = carried_out(planned(backend, resource).work, Beaten(backend))
    assert (events[-1].state, writes(events)) == (StepState.DONE, [])


def test_what_another_makes_while_a_write_is_put_off_is_there_and_not_claimed() -> None:
    class Beaten(Watched):
        def before(self, verb: str, address: Address) -> None:
            self.inner.put(address, work.steps[0].body)

    backend = cloud()
    work = planned(backend, compute()).work
    events = carried_out(work, Beaten(backend))
    assert [event.state.value for event in events] == ["started", "retrying", "done"]
    assert writes(events) == []


def test_what_another_deletes_in_the_same_moment_is_gone_and_not_claimed() -> None:
    class Beaten(Watched):
        def before(self, verb: str, address: Address) -> None:
            self.inner.delete(address).wait()

    backend = cloud()
    carried_out(planned(backend, compute()).work, backend)
    events = carried_out(planned(backend, compute(), destroying=True).work, Beaten(backend))
    assert (events[-1].state, writes(events)) == (StepState.DONE, [])


def test_a_write_whose_answer_was_lost_is_claimed_after_a_clear_refusal_too() -> None:
    class Late(Watched):
        """The first write gets no answer, and is carried out when the second one is refused."""

        first: Mapping[str, Any] | None = None

        def put(self, address: Address, body: Mapping[str, Any]) -> Operation:
            if self.first is None:
                self.first = body
                raise AWAY
            self.inner.put(address, self.first).wait()
            raise Transient("TooManyRequests", "later", status=429)

    backend = cloud()
    events = one_by_one(planned(backend, CLUSTERS[0]).work, Late(backend))
    assert [event.state.value for event in events] == ["started", "retrying", "retrying", "done"]
    assert events[-1].wrote


def test_on_a_full_disk_what_was_made_is_counted_and_nothing_more_is_started() -> None:
    inner = cloud()
    work = planned(inner, *(compute(f"cluster-{n}") for n in range(10, 50))).work
    with inner.handle.store.write() as db:
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {pages + 4}")
    events: list[StepEvent] = []
    actions = dict.fromkeys((step.change for step in work.steps), Action.CREATE)
    outcome = collect(
        apply(work, inner, parallelism=1, stop=threading.Event()), work, actions, events.append
    )
    made = bodies(inner)
    assert 0 < len(made) < 40
    assert outcome.added == len(made)
    assert outcome.cancelled
    assert outcome.partial
    assert {event.state for event in events if event.step.target.name == "cluster-49"} == {
        StepState.CANCELLED
    }
    assert "it would have failed like compute/cluster-" in (outcome.outage or "")


def test_a_state_that_another_process_holds_is_waited_for_once(tmp_path: Path) -> None:
    file = tmp_path / "local.db"
    backend = LocalBackend(Store(file, patience=0.2), SCOPE)
    work = planned(backend, *CLUSTERS).work
    with Store(file).write():
        began = time.monotonic()
        events = one_by_one(work, backend)
    assert time.monotonic() - began < 0.2 * len(CLUSTERS)
    assert sorted(outcomes(events).values()) == ["cancelled"] * 4 + ["failed"]


def test_a_write_that_was_accepted_before_the_state_was_lost_is_looked_up() -> None:
    class Lost(_Unanswered):
        def wait(self) -> None:
            raise Unavailable("LocalState", "the disk is full")

    class Full(Watched):
        def put(self, address: Address, body: Mapping[str, Any]) -> Operation:
            super().put(address, body)
            return Lost()

    inner = cloud()
    (*_, last) = one_by_one(planned(inner, CLUSTERS[0]).work, Full(inner))
    assert (last.state, last.wrote, last.verified) == (StepState.FAILED, True, True)
