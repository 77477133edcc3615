"""Laws of carrying out: any work, any trouble, stopped at any moment."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mlctl.applying.events import RetryOptions, StepEvent, StepState
from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.backend import Operation
from mlctl.kinds.address import Address
from mlctl.planning.steps.work import PlanStep, StepRole, Work
from mlctl.simulator.control_plane import control
from mlctl.simulator.control_plane.faults import CallFault, FaultKind
from tests.builders.plans import carried_out
from tests.builders.workspace import SCOPE, Watched, bodies, cloud

FINAL = {StepState.DONE, StepState.FAILED, StepState.SKIPPED, StepState.CANCELLED}
TROUBLES = (FaultKind.FAIL, FaultKind.THROTTLE, FaultKind.DROP, FaultKind.FAIL_OPERATION)
BODY = {
    "properties": {
        "computeType": "AmlCompute",
        "properties": {"vmSize": "STANDARD_DS3_V2", "scaleSettings": {"maxNodeCount": 1}},
    }
}


def name(number: int) -> Address:
    return Address("compute", f"cluster-{number}x")


@st.composite
def works(draw: st.DrawFn) -> Work:
    """Some clusters to make, each after some of the earlier ones."""
    steps = []
    for number in range(draw(st.integers(1, 9))):
        earlier = st.sets(st.integers(0, number - 1), max_size=3) if number else st.just(set())
        needs = tuple(sorted(draw(earlier)))
        steps.append(PlanStep(number, name(number), StepRole.CREATE, name(number), BODY, needs))
    return Work("local", SCOPE, tuple(steps), dict.fromkeys(map(name, range(9))))


def faults() -> st.SearchStrategy[list[CallFault]]:
    return st.lists(
        st.builds(
            CallFault,
            st.sampled_from(TROUBLES),
            st.just("put"),
            st.integers(0, 8).map(lambda number: str(name(number))),
            times=st.sampled_from([1, 2, None]),
            seconds=st.just(0.0),
            status=st.sampled_from([0, 400]),
        ),
        max_size=4,
    )


@dataclass(eq=False)
class Witness(Watched):
    """A backend that remembers what was ready when each write began, and can ask to stop."""

    cloud: LocalBackend = field(kw_only=True)
    stop: threading.Event = field(default_factory=threading.Event)
    stop_after: int = 99
    ready: dict[Address, set[Address]] = field(default_factory=dict)
    begun_late: list[Address] = field(default_factory=list)
    lock: Any = field(default_factory=threading.Lock)

    def put(self, address: Address, body: Mapping[str, Any]) -> Operation:
        with self.lock:
            if self.stop.is_set() and address not in self.ready:
                self.begun_late.append(address)
            live = self.inner.read([name(number) for number in range(9)])
            self.ready.setdefault(
                address,
                {
                    one
                    for one, found in live.items()
                    if found.body["properties"]["provisioningState"] == "Succeeded"
                },
            )
            if len(self.ready) >= self.stop_after:
                self.stop.set()
            return self.inner.put(address, body)


def tried(work: Work, trouble: list[CallFault], stop_after: int, parallelism: int) -> Tried:
    backend = cloud()
    for fault in trouble:
        control.add_fault(backend.handle, fault)
    witness = Witness(backend, cloud=backend, stop_after=stop_after)
    retry = RetryOptions(attempts=3, base=0)
    events = carried_out(work, witness, parallelism=parallelism, stop=witness.stop, retry=retry)
    return Tried(witness, events)


@dataclass(frozen=True, eq=False)
class Tried:
    witness: Witness
    events: list[StepEvent]

    @property
    def last(self) -> dict[int, StepEvent]:
        return {event.step.id: event for event in self.events}


ANY = (works(), faults(), st.integers(1, 12), st.sampled_from([1, 3]))


@given(*ANY)
def test_no_step_starts_before_what_it_needs_is_final(
    work: Work, trouble: list[CallFault], stop_after: int, parallelism: int
) -> None:
    done = tried(work, trouble, stop_after, parallelism)
    for step in work.steps:
        if step.target in done.witness.ready:
            assert {name(need) for need in step.needs} <= done.witness.ready[step.target]


@given(*ANY)
def test_every_step_has_one_outcome_and_it_is_true(
    work: Work, trouble: list[CallFault], stop_after: int, parallelism: int
) -> None:
    done = tried(work, trouble, stop_after, parallelism)
    finals = [event.step.id for event in done.events if event.state in FINAL]
    assert sorted(finals) == [step.id for step in work.steps]
    there = bodies(done.witness.inner)
    for step in work.steps:
        state = done.last[step.id].state
        if state is StepState.DONE:
            assert str(step.target) in there
        if state is StepState.SKIPPED:
            assert str(step.target) not in there


@given(*ANY)
def test_a_failure_is_told_once_and_what_follows_names_it(
    work: Work, trouble: list[CallFault], stop_after: int, parallelism: int
) -> None:
    last = tried(work, trouble, stop_after, parallelism).last
    failed = {number for number, event in last.items() if event.state is StepState.FAILED}
    for step in work.steps:
        event = last[step.id]
        assert (event.error is not None) is (
            step.id in failed
        ) or event.state is StepState.CANCELLED
        if event.state is StepState.SKIPPED:
            assert event.because is not None
            assert event.because.id in failed
            assert _needs(work, step) >= {event.because.id}
        elif event.state is StepState.DONE:
            assert not _needs(work, step) & failed


@given(*ANY)
def test_nothing_new_starts_once_it_is_stopped(
    work: Work, trouble: list[CallFault], stop_after: int, parallelism: int
) -> None:
    done = tried(work, trouble, stop_after, parallelism)
    # those that had started when the stop came may still write
    assert len(done.witness.begun_late) <= parallelism - 1
    if not done.witness.stop.is_set():  # nor is any started once a step has run out of tries
        cancelled = [one for one in done.last.values() if one.state is StepState.CANCELLED]
        failed = [one.step for one in done.last.values() if one.state is StepState.FAILED]
        assert all(one.because in failed for one in cancelled)


@given(*ANY)
def test_trouble_costs_writes_and_never_doubles_or_loses_any(
    work: Work, trouble: list[CallFault], stop_after: int, parallelism: int
) -> None:
    # what failed after it was accepted is there, and takes another plan
    refused = [one for one in trouble if one.kind is not FaultKind.FAIL_OPERATION]
    backend = tried(work, refused, stop_after, parallelism).witness.cloud
    control.clear_faults(backend.handle)
    events = carried_out(work, backend)
    assert {event.state for event in events if event.state in FINAL} == {StepState.DONE}
    assert set(bodies(backend)) == {str(step.target) for step in work.steps}


def _needs(work: Work, step: PlanStep) -> set[int]:
    """All that a step needs, in the end."""
    found: set[int] = set()
    queue = list(step.needs)
    while queue:
        need = queue.pop()
        found.add(need)
        queue += work.steps[need].needs
    return found
