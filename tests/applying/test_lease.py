"""An apply under a lease: taken, waited for, renewed, lost, given back."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from mlctl.applying.events import StepState
from mlctl.applying.executor import apply
from mlctl.applying.lease import LeaseRequest, holder, keep_renewed, under_lease
from mlctl.applying.outcome import collect
from mlctl.backends.local.leases import LocalLeases
from mlctl.backends.ports.lease import Holder, Lease, LeaseHeld, LeaseLost
from mlctl.kinds.address import Address
from mlctl.render.apply.outcome import summary
from mlctl.service_errors import Transient
from mlctl.simulator.control_plane import control
from tests.builders.leased import ANA, CI, local
from tests.builders.plans import planned
from tests.builders.resources import compute

BODY = {"properties": {"computeType": "AmlCompute", "properties": {"vmSize": "STANDARD_DS3_V2"}}}
CPU = Address("compute", "cpu-cluster")


@dataclass
class Time:
    """Time that passes when somebody waits; what is to happen then is called once."""

    moment: float = 0.0
    then: list[object] = field(default_factory=list)

    def now(self) -> float:
        return self.moment

    def pause(self, stop: threading.Event, seconds: float) -> bool:
        self.moment += seconds
        for one in [self.then.pop()] if self.then else []:
            assert callable(one)
            one()
        return stop.is_set()


def wanted(time: Time, timeout: float = 0.0, told: list[Lease] | None = None) -> LeaseRequest:
    heard = told if told is not None else []
    return LeaseRequest("scoring", ANA, timeout, heard.append, time.now, time.pause)


def test_it_is_held_within_the_block_and_free_after_it() -> None:
    backend, _ = local()
    with under_lease(backend, LeaseRequest("scoring", ANA), threading.Event()):
        assert [one.holder for one in backend.leases.held()] == [ANA]
    assert backend.leases.held() == []


def test_the_same_project_in_another_workspace_has_another() -> None:
    backend, _ = local()
    prod = backend.within(replace(backend.scope, workspace="prod"))
    backend.leases.acquire("scoring", ANA)
    assert prod.leases.held() == []
    prod.leases.acquire("scoring", CI)


def test_it_is_given_back_when_an_error_ends_the_block() -> None:
    backend, _ = local()
    with (
        pytest.raises(ZeroDivisionError),
        under_lease(backend, LeaseRequest("scoring", ANA), threading.Event()),
    ):
        raise ZeroDivisionError
    assert backend.leases.held() == []


def test_without_time_to_wait_it_fails_at_once_and_nothing_has_begun() -> None:
    backend, _ = local()
    backend.leases.acquire("scoring", CI)
    time = Time()
    with (
        pytest.raises(LeaseHeld),
        under_lease(backend, wanted(time), threading.Event()),
    ):
        pytest.fail("the block was entered")
    assert time.moment == 0.0


def test_it_waits_for_as_long_as_it_was_told_and_says_once_for_whom() -> None:
    backend, _ = local()
    backend.leases.acquire("scoring", CI)
    time, told = Time(), list[Lease]()
    with (
        pytest.raises(LeaseHeld),
        under_lease(backend, wanted(time, 9.0, told), threading.Event()),
    ):
        pytest.fail("the block was entered")
    assert (time.moment, [one.holder for one in told]) == (9.0, [CI])


def test_it_goes_on_as_soon_as_the_other_is_done() -> None:
    backend, _ = local()
    theirs = backend.leases.acquire("scoring", CI)
    time = Time(then=[lambda: backend.leases.release(theirs)])
    with under_lease(backend, wanted(time, 600.0), threading.Event()):
        assert [one.holder for one in backend.leases.held()] == [ANA]
    assert time.moment < 600.0


def test_a_signal_ends_the_wait_and_nothing_starts() -> None:
    backend, _ = local()
    work = planned(backend, compute()).work
    backend.leases.acquire("scoring", CI)
    stop = threading.Event()
    time = Time(then=[stop.set])
    with under_lease(backend, wanted(time, 600.0), stop) as leased:
        events = list(apply(work, leased, parallelism=1, stop=stop))
    assert [one.state for one in events] == [StepState.CANCELLED]
    assert backend.read([compute().address]) == {}


def test_a_paused_holder_writes_nothing_after_another_has_acquired_it() -> None:
    backend, clock = local()
    work = planned(backend, compute()).work
    with under_lease(backend, LeaseRequest("scoring", ANA), threading.Event()) as leased:
        clock.time += 61
        backend.leases.acquire("scoring", CI)
        outcome = collect(
            apply(work, leased, parallelism=1, stop=threading.Event()), work, {}, lambda _: None
        )
    assert backend.read([compute().address]) == {}
    assert [one.state for one in outcome.cancelled] == [StepState.CANCELLED]
    assert outcome.lease_lost is not None
    text = summary(outcome)
    assert text.startswith("Apply was stopped.")
    assert "Not started:\n  the lease of `scoring` is lost: another process has taken it" in text
    assert "mlctl lock show" in text
    assert [one.holder for one in backend.leases.held()] == [CI]


def test_what_comes_after_a_lost_lease_is_not_started_either() -> None:
    backend, _ = local()
    work = planned(backend, compute(), compute("other-cluster")).work
    with under_lease(backend, LeaseRequest("scoring", ANA), threading.Event()) as leased:
        backend.leases.break_(backend.leases.held()[0])
        events = list(apply(work, leased, parallelism=1, stop=threading.Event()))
    ended = [one for one in events if one.state is StepState.CANCELLED]
    assert len(ended) == 2
    assert all(isinstance(one.error, LeaseLost) for one in ended)
    assert sum(one.state is StepState.STARTED for one in events) == 1


def test_deletes_are_fenced_as_puts_are() -> None:
    backend, _ = local()
    backend.put(CPU, BODY).wait()
    leased = backend.under(backend.leases.acquire("scoring", ANA))
    backend.leases.break_(backend.leases.held()[0])
    with pytest.raises(LeaseLost, match="it was broken"):
        leased.delete(CPU)
    assert CPU in backend.read([CPU])


def test_after_a_reset_the_first_holder_is_not_the_one_with_the_same_number() -> None:
    backend, _ = local()
    first = backend.leases.acquire("scoring", ANA)
    control.reset(backend.handle, "0")
    second = backend.leases.acquire("scoring", CI)
    assert (first.token, second.token) == (1, 1)
    with pytest.raises(LeaseLost):
        backend.under(first).put(CPU, BODY)
    backend.leases.release(first)
    backend.under(second).put(CPU, BODY).wait()


@pytest.mark.parametrize(("failures", "comes"), [(4, True), (5, False)])
def test_a_store_that_is_away_for_a_moment_is_asked_again(
    failures: int, comes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend, _ = local()
    real, left = LocalLeases.acquire, [Transient("LeaseStore", "away")] * failures

    def acquire(leases: LocalLeases, *given: Any) -> Lease:
        if left:
            raise left.pop()
        return real(leases, *given)

    monkeypatch.setattr(LocalLeases, "acquire", acquire)
    expected = nullcontext() if comes else pytest.raises(Transient)
    with expected, under_lease(backend, wanted(Time()), threading.Event()):
        assert comes
    assert left == []


@dataclass
class Failing:
    """Leases whose renewals fail as they are told to."""

    errors: list[Exception | None]
    renewed: int = 0

    def renew(self, _lease: Lease) -> None:
        self.renewed += 1
        error = self.errors.pop(0) if self.errors else None
        if error is not None:
            raise error


def waits_of(errors: list[Exception | None], end: int) -> tuple[list[float], int]:
    """How long the renewing thread waits each time, until the wait of that number."""
    waits: list[float] = []

    def pause(_done: threading.Event, seconds: float) -> bool:
        waits.append(seconds)
        return len(waits) == end

    leases = Failing(errors)
    lease = Lease("scoring", 1, ANA, 0.0, 60.0)
    keep_renewed(leases, lease, threading.Event(), pause)  # type: ignore[arg-type]
    return waits, leases.renewed


def test_it_is_renewed_at_a_third_of_its_time_and_sooner_after_a_failure() -> None:
    away = Transient("ConnectionLost", "no connection")
    assert waits_of([None, away, away, None], 5) == ([20.0, 20.0, 5.0, 5.0, 20.0], 4)


def test_a_lost_one_is_not_renewed_any_more() -> None:
    assert waits_of([LeaseLost("gone")], 9) == ([20.0], 1)


@pytest.mark.parametrize(
    ("variables", "who", "run"),
    [
        ({"USER": "ana"}, "ana@", ""),
        (
            {
                "USER": "runner",
                "GITHUB_ACTOR": "bob",
                "GITHUB_RUN_ID": "9",
                "GITHUB_SERVER_URL": "https://github.com",
                "GITHUB_REPOSITORY": "o/r",
            },
            "bob@",
            "https://github.com/o/r/actions/runs/9",
        ),
        (
            {
                "BUILD_BUILDID": "5",
                "SYSTEM_COLLECTIONURI": "https://dev.azure.com/o/",
                "SYSTEM_TEAMPROJECT": "p",
                "BUILD_REQUESTEDFOR": "Eve",
            },
            "Eve@",
            "https://dev.azure.com/o/p/_build/results?buildId=5",
        ),
        (
            {"CI_JOB_URL": "https://gitlab.com/o/r/-/jobs/1", "GITLAB_USER_LOGIN": "zoe"},
            "zoe@",
            "https://gitlab.com/o/r/-/jobs/1",
        ),
    ],
)
def test_the_holder_says_who_it_is_and_which_run(
    variables: dict[str, str], who: str, run: str
) -> None:
    found = holder("mlctl apply infra", variables)
    assert found.who.startswith(who)
    assert (found.run, found.command) == (run, "mlctl apply infra")


def test_a_holder_is_read_whatever_is_written_there() -> None:
    assert Holder.of({"who": None, "pid": "x", "else": 1}) == Holder("", 0, "")
    assert Holder.of(CI.as_data()) == CI
