"""The controller: what it survives, where it stops, and what it leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from mlctl.backends.ports.lease import Holder, LeaseHeld, LeaseLost
from mlctl.dataclasses import replace
from mlctl.finishing.cloud import WorkspaceCloud
from mlctl.finishing.order import merge
from mlctl.finishing.progress import Ending, Progress
from mlctl.forecast.batch.policy import RecoveryPolicy, Way
from mlctl.simulator.control_plane import control
from mlctl.simulator.engine.model import HOUR, Tier
from mlctl.simulator.engine.processes import LossScript, Poisson
from tests.builders.bodies import BLUE, ENDPOINT, deployment
from tests.finishing.worlds import (
    NAME,
    SURE,
    SURE_CPU,
    World,
    begun,
    ordered,
    resumed,
    world,
)

EVENLY = RecoveryPolicy(Way.UNIFORM_PROGRESS, shards=4)
LOST = (LossScript(((2000.0, "all"),)),)


def stormy(policy: RecoveryPolicy = EVENLY, **facts: Any) -> World:
    """Losses that come often; the deadline is four hours, the work one."""
    return world(3, (Poisson(1.0),), policy, 4 * HOUR, nodes=1, **facts)


def summary(progress: Progress) -> list[tuple[str, int, str, str]]:
    return [(run.name, run.shard, run.tier.value, run.status) for run in progress.runs]


class Killed(BaseException):
    """What no code catches, as SIGKILL."""


def dying(of: World, killed_at: int, *, after_write: bool) -> Callable[[Any], None]:
    """Writes to the journal, and dies before or after the record of this number."""
    numbers = count(1)

    def append(record: Any) -> None:
        number = next(numbers)
        if number < killed_at or after_write:
            of.backend.journals.append(NAME, record)
        if number == killed_at:
            raise Killed

    return append


@pytest.mark.parametrize("after_write", [False, True])
def test_a_controller_that_is_killed_at_any_record_is_taken_up_where_it_was(
    after_write: bool,
) -> None:
    calm = stormy()
    whole = begun(calm, ordered(calm, 4 * HOUR))
    whole.carry_out()
    records = len(calm.backend.journals.read(NAME))
    assert any(run.status == "Canceled" for run in whole.progress.runs)
    for killed_at in range(1, records):
        again = stormy()
        controller = begun(again, ordered(again, 4 * HOUR))
        controller._append = dying(again, killed_at, after_write=after_write)
        with pytest.raises(Killed):
            controller.carry_out()
        second = resumed(again.backend)
        assert second.carry_out() is Ending.DONE
        assert summary(second.progress) == summary(whole.progress)
        jobs = again.backend.jobs.list()
        assert sorted(job.name for job in jobs) == sorted(run.name for run in second.progress.runs)


def test_a_controller_that_dies_right_after_it_submitted_finds_its_run_again() -> None:
    calm = stormy()
    controller = begun(calm, ordered(calm, 4 * HOUR))
    submit = controller.cloud.submit

    def submitted(*facts: Any) -> None:
        submit(*facts)
        raise Killed

    controller.cloud.submit = submitted  # type: ignore[assignment, method-assign]
    with pytest.raises(Killed):
        controller.carry_out()
    second = resumed(calm.backend)
    assert second.progress.under_way is not None
    assert second.carry_out() is Ending.DONE
    assert len(calm.backend.jobs.list()) == len(second.progress.runs)


def test_whoever_has_lost_the_lease_submits_nothing_more() -> None:
    calm = stormy()
    leases, me = calm.backend.leases, Holder("a", 1, "mlctl finish")
    lease = leases.acquire("finish/forecast", me)
    with pytest.raises(LeaseHeld):
        leases.acquire("finish/forecast", Holder("b", 2, "mlctl finish"))
    begun(calm, ordered(calm, 4 * HOUR))
    fenced = calm.backend.under(lease)
    leases.break_(lease)
    with pytest.raises(LeaseLost):
        resumed(fenced).carry_out()
    assert not calm.backend.jobs.list()


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.9])
def test_no_more_is_spent_than_the_budget_and_a_step(share: float) -> None:
    free = stormy()
    whole = begun(free, ordered(free, 4 * HOUR))
    whole.carry_out()
    budget = whole.progress.spent * share
    bound = stormy()
    controller = begun(bound, ordered(bound, 4 * HOUR, max_cost=budget))
    assert controller.carry_out() is Ending.OVER_BUDGET
    progress = controller.progress
    dearest = max(run.node_s * progress.order.dedicated_price / HOUR for run in whole.progress.runs)
    assert progress.spent <= budget + dearest
    assert "USD are spent, and the next step costs" in progress.reason


def test_a_budget_of_exactly_what_is_left_to_do_is_enough() -> None:
    calm = world(1, (), RecoveryPolicy(Way.REMAINING, shards=1), None)
    order = ordered(calm)
    cost = order.step_cost(order.sizes[0], Tier.LOW_PRIORITY)
    controller = begun(calm, replace(order, max_cost=cost))
    assert controller.carry_out() is Ending.DONE
    short = world(1, (), RecoveryPolicy(Way.REMAINING, shards=1), None)
    controller = begun(short, replace(order, max_cost=cost * 0.999))
    assert controller.carry_out() is Ending.OVER_BUDGET
    assert not controller.progress.runs


def test_equal_failures_end_it() -> None:
    policy = RecoveryPolicy(Way.REMAINING, shards=3)
    broken = world(1, (), policy, None, errorThreshold=0)
    order = ordered(broken, workload={"seconds_per_file": 60.0, "fail_probability": 1.0})
    controller = begun(broken, order)
    assert controller.carry_out() is Ending.IMPOSSIBLE
    assert [run.status for run in controller.progress.runs] == ["Failed", "Failed"]
    assert controller.progress.reason.startswith("2 runs failed with the same error: ")


def test_a_twin_is_made_when_it_is_needed_and_removed_at_the_end() -> None:
    fallback = RecoveryPolicy(Way.FALLBACK, 1, shards=2)
    lost = world(1, LOST, fallback, None, sure=False)
    controller = begun(lost, ordered(lost, makes_twin=True))
    made: list[str] = []
    make = controller.cloud.create

    def noted(address: str, body: Any) -> None:
        made.append(address)
        make(address, body)

    controller.cloud.create = noted  # type: ignore[method-assign]
    assert controller.carry_out() is Ending.DONE
    assert made == [str(SURE_CPU), str(SURE)]
    assert Tier.DEDICATED in {run.tier for run in controller.progress.runs}
    assert not lost.backend.read([SURE_CPU, SURE])
    assert not controller.progress.twins


def test_a_twin_that_a_killed_controller_made_is_removed_by_the_next_one() -> None:
    lost = world(1, LOST, RecoveryPolicy(Way.FALLBACK, 1, shards=2), None, sure=False)
    controller = begun(lost, ordered(lost, makes_twin=True))
    make = controller.cloud.create

    def once(address: str, body: Any) -> None:
        make(address, body)
        raise Killed

    controller.cloud.create = once  # type: ignore[method-assign]
    with pytest.raises(Killed):
        controller.carry_out()
    assert SURE_CPU in lost.backend.read([SURE_CPU])
    assert resumed(lost.backend).carry_out() is Ending.DONE
    assert not lost.backend.read([SURE_CPU, SURE])


def test_cancelling_ends_what_runs_and_removes_what_was_made() -> None:
    lost = world(1, LOST, RecoveryPolicy(Way.DEDICATED, shards=2), None, sure=False)
    controller = begun(lost, ordered(lost, makes_twin=True))
    controller.cloud.watch = lambda *_: (_ for _ in ()).throw(Killed)  # type: ignore[method-assign]
    with pytest.raises(Killed):
        controller.carry_out()
    second = resumed(lost.backend)
    assert second.cancel() is Ending.CANCELLED
    assert [job.status for job in lost.backend.jobs.list()] == ["Canceled"]
    assert not lost.backend.read([SURE_CPU, SURE])
    assert resumed(lost.backend).carry_out() is Ending.CANCELLED


def test_an_endpoint_that_is_deleted_under_it_ends_it_and_nothing_is_left() -> None:
    lost = world(1, LOST, RecoveryPolicy(Way.DEDICATED, shards=2), None, sure=False)
    controller = begun(lost, ordered(lost, makes_twin=True))
    watch = controller.cloud.watch

    def deleted(*facts: Any) -> Any:
        look = watch(*facts)
        for address in (SURE, BLUE, ENDPOINT):
            if lost.backend.read([address]):
                lost.backend.delete(address).wait()
        return look

    controller.cloud.watch = deleted  # type: ignore[assignment, method-assign]
    assert controller.carry_out() is Ending.IMPOSSIBLE
    assert "no longer exists" in controller.progress.reason
    assert not lost.backend.read([SURE_CPU, SURE])


def test_runs_that_are_refused_are_failures() -> None:
    calm = world(1, (), RecoveryPolicy(Way.REMAINING, shards=2), None)
    controller = begun(calm, ordered(calm, deployment="gone"))
    assert controller.carry_out() is Ending.IMPOSSIBLE
    assert [run.status for run in controller.progress.runs] == ["Failed", "Failed"]
    assert controller.progress.spent == 0


def test_a_twin_that_no_quota_allows_ends_a_job_that_runs_on_nothing_else() -> None:
    lost = world(1, LOST, RecoveryPolicy(Way.DEDICATED, shards=2), None, sure=False)
    control.set_quotas(lost.backend.handle, lost.backend.location, {"total": 0})
    controller = begun(lost, ordered(lost, makes_twin=True))
    assert controller.carry_out() is Ending.IMPOSSIBLE
    assert controller.progress.reason.startswith("the dedicated twin cannot be created: ")
    assert not lost.backend.read([SURE_CPU, SURE])


@pytest.mark.parametrize("policy", [RecoveryPolicy(Way.FALLBACK, 1, shards=2), EVENLY])
def test_without_quota_for_a_twin_a_job_goes_on_with_low_priority(policy: RecoveryPolicy) -> None:
    lost = world(1, LOST, policy, 3000.0, sure=False)
    control.set_quotas(lost.backend.handle, lost.backend.location, {"total": 0})
    controller = begun(lost, ordered(lost, 3000.0, makes_twin=True))
    assert controller.carry_out() in (Ending.DONE, Ending.LATE)
    assert {run.tier for run in controller.progress.runs} == {Tier.LOW_PRIORITY}
    events = [record["event"] for record in lost.backend.journals.read(NAME)]
    assert "no-twin" in events
    assert not lost.backend.read([SURE_CPU, SURE])


def test_cancelling_a_run_that_was_never_submitted_ends_the_job() -> None:
    calm = stormy()
    controller = begun(calm, ordered(calm, 4 * HOUR))
    controller.cloud.submit = lambda *_: (_ for _ in ()).throw(Killed)  # type: ignore[method-assign]
    with pytest.raises(Killed):
        controller.carry_out()
    assert resumed(calm.backend).cancel() is Ending.CANCELLED
    assert not calm.backend.jobs.list()


def test_shards_of_a_deployment_that_is_changed_meanwhile_are_not_put_together() -> None:
    calm = world(1, (), RecoveryPolicy(Way.REMAINING, shards=2), None)
    there = WorkspaceCloud(calm.backend, calm.backend.jobs)
    controller = begun(calm, ordered(calm, version=there.version(ordered(calm))))
    watch = controller.cloud.watch

    def changed(*facts: Any) -> Any:
        look = watch(*facts)
        body = deployment(calm.backend.scope, outputAction="SummaryOnly")
        calm.backend.put(BLUE, body).wait()
        return look

    controller.cloud.watch = changed  # type: ignore[assignment, method-assign]
    assert controller.carry_out() is Ending.IMPOSSIBLE
    assert "the deployment has changed since the job began" in controller.progress.reason
    assert len(calm.backend.jobs.list()) == 1


def test_a_job_done_after_its_deadline_is_late() -> None:
    calm = world(1, (), RecoveryPolicy(Way.REMAINING, shards=2), None)
    controller = begun(calm, ordered(calm, 600.0))
    assert controller.carry_out() is Ending.LATE
    assert controller.progress.reason.endswith("the deadline was 600 s")


@pytest.mark.slow
def test_a_thousand_shards_take_less_than_ten_seconds() -> None:
    many = world(1, (Poisson(0.05),), RecoveryPolicy(Way.REMAINING, shards=1000), None, files=2000)
    controller = begun(many, ordered(many))
    began = process_time()
    assert controller.carry_out() is Ending.DONE
    assert len(controller.progress.runs) >= 1000
    assert process_time() - began < 10


def test_rows_are_put_together_in_the_order_of_the_inputs(tmp_path: Path) -> None:
    for part, rows in (("a", "f1,0\nf2,1\n"), ("b", "f3,0")):
        (tmp_path / part / "score").mkdir(parents=True)
        (tmp_path / part / "score" / "predictions.csv").write_text(rows)
        (tmp_path / part / "score" / "summary.txt").write_text(part)
        (tmp_path / part / "score" / f"{part}.parquet").write_text(part)
    merge([tmp_path / "a", tmp_path / "b"], [1, 1], "predictions.csv", tmp_path / "all")
    merged = tmp_path / "all"
    assert (merged / "score" / "predictions.csv").read_text() == "f1,0\nf2,1\nf3,0\n"
    assert (merged / "score" / "b.parquet").read_text() == "b"
    assert (merged / "shard-0002" / "score" / "summary.txt").read_text() == "b"


def test_the_numbers_of_simulated_mini_batches_go_on(tmp_path: Path) -> None:
    for part in ("a", "b"):
        (tmp_path / part).mkdir()
        (tmp_path / part / "p.csv").write_text("mini-batch 0,simulated\nmini-batch 1,simulated\n")
    merge([tmp_path / "a", tmp_path / "b"], [2, 2], "p.csv", tmp_path / "all")
    rows = (tmp_path / "all" / "p.csv").read_text().splitlines()
    assert rows == [f"mini-batch {number},simulated" for number in range(4)]


def test_failures_that_differ_by_the_name_of_the_run_alone_are_equal() -> None:
    progress = Progress(ordered(world(1, (), RecoveryPolicy(shards=2), None)), 0.0)
    for number, request in ((1, "4f2a-99c1-77aa"), (2, "0b1c-3d4e-5f60")):
        name = progress.order.run_name(number)
        progress.add(submitted(name))
        reason = f"`{name}` is refused at 12:0{number} (request {request})"
        facts = {"status": "Failed", "node_s": 0.0, "reason": reason}
        progress.add({"event": "ended", "at": 1.0, "run": name, **facts})
    assert progress.failures == 2
    progress.add(submitted("other"))
    facts = {"status": "Failed", "node_s": 0.0, "reason": "the image cannot be pulled"}
    progress.add({"event": "ended", "at": 2.0, "run": "other", **facts})
    assert progress.failures == 1


def submitted(name: str) -> dict[str, object]:
    return {"event": "submit", "at": 0.0, "run": name, "shard": 0, "tier": "low_priority"}
