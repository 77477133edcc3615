"""Carrying out: retries, refusals, a world that moves, and stopping."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import pytest

from mlctl.applying.events import NotEffective, RetryOptions, Stale, StepEvent, StepState
from mlctl.applying.executor import apply
from mlctl.applying.targets import stale_targets
from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.backend import Live, Operation
from mlctl.kinds.address import Address
from mlctl.planning.steps.work import PlanStep, StepRole, Work
from mlctl.service_errors import NotFound, Permanent, Transient
from mlctl.simulator.control_plane import control
from mlctl.simulator.control_plane.faults import CallFault, FaultKind
from mlctl.simulator.control_plane.state.settings import CloudSettings, ImmutablePolicy
from tests.builders.plans import applied, carried_out, outcomes, planned, writes
from tests.builders.resources import compute, deployment, endpoint, model
from tests.builders.workspace import SCOPE, Watched, bodies, cloud

HEART = (compute(), model(), endpoint(default="blue"), deployment())
CLUSTER = {"properties": {"computeType": "AmlCompute"}}
CODE = {"properties": {"codeUri": "https://example.org/code"}}
CPU, BLUE, ENDPOINT = compute().address, deployment().address, endpoint().address


def troubled(
    trouble: FaultKind, verb: str = "put", target: str = "compute", **how: Any
) -> LocalBackend:
    """An empty workspace that has trouble with its first call of a kind."""
    backend = cloud()
    control.add_fault(backend.handle, CallFault(trouble, verb, target, **how))
    return backend


def story(events: list[StepEvent]) -> list[str]:
    """What happened to the only step, in one word each."""
    return [event.state.value for event in events]


def last(events: list[StepEvent]) -> StepEvent:
    return events[-1]


def test_a_write_is_started_done_and_told_as_written() -> None:
    events = applied(cloud(), compute())
    assert story(events) == ["started", "done"]
    assert last(events).wrote


def test_a_throttled_write_is_asked_again_after_the_services_own_delay() -> None:
    backend = troubled(FaultKind.THROTTLE, seconds=7)
    events = carried_out(planned(backend, compute()).work, backend)
    assert story(events) == ["started", "retrying", "done"]
    assert (events[1].delay, getattr(events[1].error, "code", "")) == (7, "TooManyRequests")


def test_a_delay_of_zero_is_a_delay_and_no_missing_one() -> None:
    assert RetryOptions(base=5).delay(1, Transient("T", "t", retry_after=0)) == 0
    backend = troubled(FaultKind.THROTTLE, seconds=0)
    events = carried_out(planned(backend, compute()).work, backend)
    assert [event.delay for event in events] == [None, 0, None]


def test_delays_double_up_to_the_longest_and_end() -> None:
    retry = RetryOptions(attempts=6, base=1, longest=5)
    asked = [retry.delay(attempt, Transient("T", "t")) for attempt in range(1, 7)]
    assert asked == [1, 2, 4, 5, 5, None]


def test_waiting_lets_the_backends_own_time_pass() -> None:
    backend = troubled(FaultKind.THROTTLE, seconds=1000)
    carried_out(planned(backend, compute()).work, backend)
    assert control.status(backend.handle).now >= 1000


def test_a_write_that_is_refused_too_often_fails_with_the_last_refusal() -> None:
    backend = troubled(FaultKind.THROTTLE, times=None, seconds=0)
    events = carried_out(planned(backend, compute()).work, backend)
    assert story(events) == ["started", *["retrying"] * 5, "failed"]
    assert isinstance(last(events).error, Transient)
    assert bodies(backend) == {}


def test_a_permanent_refusal_is_not_asked_again() -> None:
    backend = troubled(FaultKind.FAIL, status=400, code="Boom")
    watched = Watched(backend)
    events = carried_out(planned(backend, compute()).work, watched)
    assert (story(events), watched.told) == (["started", "failed"], ["put compute/cpu-cluster"])


@pytest.mark.parametrize("resource", [compute(), model()], ids=["long", "at once"])
def test_a_lost_answer_is_settled_by_reading_and_not_by_writing_twice(resource: Any) -> None:
    backend = troubled(FaultKind.DROP, "put", resource.address.kind)
    watched = Watched(backend)
    events = carried_out(planned(backend, resource).work, watched)
    assert (story(events), len(watched.told)) == (["started", "done"], 1)
    state = backend.read([resource.address])[resource.address].body["properties"]
    assert state["provisioningState"] == "Succeeded"


def test_a_lost_answer_to_a_delete_is_settled_too() -> None:
    backend = cloud()
    applied(backend, compute())
    control.add_fault(backend.handle, CallFault(FaultKind.DROP, "delete", "compute"))
    events = carried_out(planned(backend, compute(), destroying=True).work, backend)
    assert (story(events)[-1], bodies(backend)) == ("done", {})


def test_a_failing_read_is_asked_again_too() -> None:
    backend = cloud()
    work = planned(backend, compute()).work
    control.add_fault(
        backend.handle, CallFault(FaultKind.THROTTLE, "get", "compute", times=2, seconds=0)
    )
    assert story(carried_out(work, backend)) == ["started", "retrying", "retrying", "done"]


def test_an_operation_that_fails_later_fails_the_step() -> None:
    backend = troubled(FaultKind.FAIL_OPERATION, code="AllocationFailed")
    events = carried_out(planned(backend, compute()).work, backend)
    assert getattr(last(events).error, "code", "") == "AllocationFailed"


def test_what_depends_on_a_failure_is_skipped_and_names_its_cause() -> None:
    backend = troubled(FaultKind.FAIL, status=400)
    events = carried_out(planned(backend, *HEART).work, backend)
    assert outcomes(events) == {
        "create compute/cpu-cluster": "failed",
        "create model/heart:1": "done",
        "create batch-endpoint/heart-batch": "done",
        "create batch-deployment/heart-batch/blue": "skipped",
        "set-default batch-endpoint/heart-batch": "skipped",
    }
    causes = {event.because.target for event in events if event.because}
    assert causes == {CPU}
    assert sum(event.error is not None for event in events) == 1


def test_the_next_apply_does_the_rest() -> None:
    backend = troubled(FaultKind.FAIL, status=400)
    carried_out(planned(backend, *HEART).work, backend)
    assert len(writes(applied(backend, *HEART))) == 3
    assert planned(backend, *HEART).plan.empty


def test_a_world_that_moved_is_not_overwritten() -> None:
    backend = cloud()
    applied(backend, compute())
    work = planned(backend, compute(max_instances=5)).work
    applied(backend, compute(max_instances=3))
    assert stale_targets(work, backend) == [CPU]
    (_, failed) = carried_out(work, backend)
    assert isinstance(failed.error, Stale)
    assert planned(backend, compute(max_instances=3)).plan.empty


def test_what_appeared_since_the_plan_is_not_overwritten() -> None:
    backend = cloud()
    work = planned(backend, compute(max_instances=5)).work
    applied(backend, compute(max_instances=3))
    assert isinstance(last(carried_out(work, backend)).error, Stale)


def test_what_somebody_makes_while_it_is_made_anew_is_not_overwritten() -> None:
    class Hurried(Watched):
        reads = 0

        def read(self, addresses: Collection[Address]) -> dict[Address, Live]:
            self.reads += 1
            if self.reads == 3:  # before and after the delete, and now before the put
                self.inner.put(CPU, CLUSTER).wait()
            return super().read(addresses)

    backend = cloud()
    applied(backend, compute())
    work = planned(backend, compute(size="Standard_D4s_v3")).work
    assert isinstance(last(carried_out(work, Hurried(backend))).error, Stale)


def test_what_vanished_since_the_plan_is_not_made_again() -> None:
    backend = cloud()
    applied(backend, compute())
    work = planned(backend, compute(max_instances=5)).work
    backend.delete(CPU).wait()
    assert isinstance(last(carried_out(work, backend)).error, Stale)
    assert bodies(backend) == {}


def test_what_somebody_else_did_already_is_left_alone() -> None:
    backend = cloud()
    work = planned(backend, compute(max_instances=5)).work
    applied(backend, compute(max_instances=5))
    assert stale_targets(work, backend) == []
    events = carried_out(work, backend)
    assert (story(events), writes(events)) == (["started", "done"], [])


def test_what_was_deleted_already_is_left_alone() -> None:
    backend = cloud()
    applied(backend, compute())
    work = planned(backend, compute(), destroying=True).work
    backend.delete(CPU).wait()
    assert writes(carried_out(work, backend)) == []


def test_node_counts_and_times_do_not_make_a_plan_stale() -> None:
    backend = cloud()
    applied(backend, compute())
    work = planned(backend, compute(max_instances=5)).work
    backend.wait(86_400)
    assert writes(carried_out(work, backend)) == ["update compute/cpu-cluster"]


def test_a_change_that_the_service_took_and_ignored_is_told() -> None:
    backend = cloud()
    control.configure(backend.handle, CloudSettings(immutable=ImmutablePolicy.IGNORE))
    applied(backend, compute())
    made = planned(backend, compute(size="Standard_D4s_v3"))
    (*_, put) = made.work.steps
    in_place = replace(made.work, steps=(replace(put, id=0, needs=()),))
    (_, failed) = carried_out(in_place, backend)
    assert isinstance(failed.error, NotEffective)
    assert [(one.at, one.before) for one in failed.error.mismatches] == [
        (("size",), "STANDARD_DS3_V2")
    ]


def test_a_replacement_really_replaces_where_changes_are_ignored() -> None:
    backend = cloud()
    control.configure(backend.handle, CloudSettings(immutable=ImmutablePolicy.IGNORE))
    applied(backend, compute())
    applied(backend, compute(size="Standard_D4s_v3"))
    assert "STANDARD_D4S_V3" in str(bodies(backend)["compute/cpu-cluster"])


def test_a_replacement_that_comes_back_as_it_was_is_told() -> None:
    class Detaching(Watched):
        """A service that keeps the machines of a cluster, and gives them to its successor."""

        def put(self, address: Address, body: Mapping[str, Any]) -> Operation:
            inner = body["properties"]
            kept = {**inner["properties"], "vmSize": "STANDARD_DS3_V2"}
            return super().put(address, {**body, "properties": {**inner, "properties": kept}})

    backend = cloud()
    applied(backend, compute())
    work = planned(backend, compute(size="Standard_D4s_v3")).work
    *_, failed = carried_out(work, Detaching(backend))
    assert isinstance(failed.error, NotEffective)
    assert [(one.at, one.before) for one in failed.error.mismatches] == [
        (("size",), "STANDARD_DS3_V2")
    ]


def test_a_default_deployment_is_really_made_anew_and_is_the_default_again() -> None:
    backend = cloud()
    backend.put(Address("code", "c0de", None, "1"), CODE).wait()
    said = {"code": "azureml:c0de:1", "scoring_script": "score.py"}
    applied(backend, *HEART[:3], deployment(code_configuration=said))
    before = bodies(backend)
    other = {**said, "scoring_script": "other.py"}
    events = applied(backend, *HEART[:3], deployment(code_configuration=other))
    assert [told.split()[0] for told in writes(events)] == [
        "unset-default",
        "delete",
        "create",
        "set-default",
    ]
    assert bodies(backend)[str(ENDPOINT)] == before[str(ENDPOINT)]


def test_a_replacement_waits_until_the_old_one_is_gone() -> None:
    backend = cloud()
    applied(backend, compute())
    before = control.status(backend.handle).now
    events = applied(backend, compute(size="Standard_D4s_v3"))
    assert writes(events) == ["delete compute/cpu-cluster", "create compute/cpu-cluster"]
    assert (
        control.status(backend.handle).now >= before + 120
    )  # a minute to delete and one to create


def test_a_write_waits_for_what_somebody_else_has_begun() -> None:
    backend = cloud()
    backend.put(CPU, CLUSTER).wait()
    work = planned(backend, compute(max_instances=5)).work
    backend.put(CPU, CLUSTER)
    assert story(carried_out(work, backend)) == ["started", "done"]
    assert planned(backend, compute(max_instances=5)).plan.empty


def test_what_is_being_deleted_is_waited_for_and_then_made() -> None:
    backend = cloud()
    applied(backend, compute())
    backend.delete(CPU)
    assert writes(applied(backend, compute())) == ["create compute/cpu-cluster"]
    assert planned(backend, compute()).plan.empty


def test_what_is_being_deleted_was_gone_already_when_the_plan_was_made() -> None:
    backend = cloud()
    applied(backend, compute())
    backend.delete(CPU)
    assert stale_targets(planned(backend, compute(max_instances=5)).work, backend) == []


def test_waiting_for_others_has_an_end() -> None:
    class Forever(Watched):
        def wait(self, seconds: float) -> None:
            self.told.append(f"wait {seconds:g}")

    inner = cloud()
    inner.put(CPU, CLUSTER).wait()
    backend = Forever(inner)
    work = planned(inner, compute(max_instances=5)).work
    inner.put(CPU, CLUSTER)
    events = carried_out(work, backend, retry=RetryOptions(poll=10, operation_timeout=30))
    assert (getattr(last(events).error, "code", ""), backend.told) == ("TimedOut", ["wait 10"] * 3)


def test_deleting_what_is_gone_is_done() -> None:
    class Vanishing(Watched):
        def before(self, verb: str, address: Address) -> None:
            self.inner.delete(address).wait()

    backend = cloud()
    applied(backend, compute())
    work = planned(backend, compute(), destroying=True).work
    assert story(carried_out(work, Vanishing(backend))) == ["started", "done"]


def test_a_put_below_a_parent_that_vanished_fails() -> None:
    backend = cloud()
    applied(backend, *HEART[:2], endpoint())
    work = planned(backend, *HEART[:2], endpoint(), deployment()).work
    backend.delete(ENDPOINT).wait()
    assert isinstance(last(carried_out(work, backend)).error, NotFound)


class Stopping(Watched):
    """A backend that is told to stop in the middle of the first write."""

    def __init__(self, inner: LocalBackend, stop: threading.Event) -> None:
        super().__init__(inner)
        self.stop = stop

    def after(self, verb: str, address: Address) -> None:
        self.stop.set()


def test_once_stopped_what_runs_is_finished_and_nothing_new_starts() -> None:
    inner, stop = cloud(), threading.Event()
    backend = Stopping(inner, stop)
    work = planned(inner, *HEART).work
    events = carried_out(work, backend, parallelism=1, stop=stop)
    assert sorted(outcomes(events).values()) == ["cancelled"] * 4 + ["done"]
    assert (len(backend.told), len(bodies(inner))) == (1, 1)


def test_stopped_before_the_start_everything_is_cancelled_and_nothing_written() -> None:
    backend, stop = cloud(), threading.Event()
    stop.set()
    events = carried_out(planned(backend, *HEART).work, backend, stop=stop)
    assert set(outcomes(events).values()) == {"cancelled"}
    assert bodies(backend) == {}


def test_stopping_ends_the_retries() -> None:
    inner, stop = troubled(FaultKind.THROTTLE, times=None, seconds=60), threading.Event()

    class Impatient(Watched):
        def wait(self, seconds: float) -> None:
            stop.set()

    events = carried_out(planned(inner, compute()).work, Impatient(inner), stop=stop)
    assert story(events) == ["started", "retrying", "cancelled"]
    assert isinstance(last(events).error, Transient)


def test_a_bug_is_raised_where_somebody_sees_it() -> None:
    class Broken(Watched):
        def put(self, address: Address, body: Mapping[str, Any]) -> Operation:
            raise RuntimeError("a bug")

    backend = cloud()
    with pytest.raises(RuntimeError, match="a bug"):
        carried_out(planned(backend, compute()).work, Broken(backend))


def test_steps_that_do_not_need_each_other_run_at_once() -> None:
    meeting = threading.Barrier(3, timeout=60)

    class Meeting(Watched):
        def before(self, verb: str, address: Address) -> None:
            meeting.wait()

    backend = cloud()
    clusters = [compute(f"cluster-{name}") for name in "abc"]
    events = carried_out(planned(backend, *clusters).work, Meeting(backend), parallelism=3)
    assert len(writes(events)) == 3


def test_no_more_run_at_once_than_are_allowed() -> None:
    running, most, lock = [0], [0], threading.Lock()

    class Counting(Watched):
        def put(self, address: Address, body: Mapping[str, Any]) -> Operation:
            with lock:
                running[0] += 1
                most[0] = max(most[0], running[0])
            operation = super().put(address, body)
            with lock:
                running[0] -= 1
            return operation

    backend = cloud()
    clusters = [compute(f"cluster-{number}x") for number in range(12)]
    carried_out(planned(backend, *clusters).work, Counting(backend), parallelism=2)
    assert most[0] <= 2


def test_no_work_is_no_event() -> None:
    work = Work("local", SCOPE, (), {})
    assert list(apply(work, cloud(), parallelism=1, stop=threading.Event())) == []


def test_without_waiting_the_last_writes_are_only_accepted() -> None:
    backend = cloud()
    work = planned(backend, *HEART).work
    stop = threading.Event()
    events = list(apply(work, backend, parallelism=4, stop=stop, wait=False))
    waited = {event.step.target: event.waited for event in events if event.state is StepState.DONE}
    assert (waited[CPU], waited[BLUE], waited[ENDPOINT]) == (True, True, False)


def test_a_delete_of_what_is_left_is_no_promise_kept() -> None:
    class Deaf(Watched):
        def delete(self, address: Address) -> Operation:
            return self.inner.put(Address("compute", "other"), CLUSTER)

    backend = cloud()
    applied(backend, compute())
    step = PlanStep(0, CPU, StepRole.DELETE, CPU)
    work = planned(backend, compute(), destroying=True).work
    events = carried_out(replace(work, steps=(step,)), Deaf(backend))
    assert isinstance(last(events).error, Permanent)
