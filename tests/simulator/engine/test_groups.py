"""Jobs that are made of others: pipelines and sweeps, by hand calculation."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl.simulator.engine import engine, snapshot, views
from mlctl.simulator.engine.commands import (
    AddCluster,
    CancelJob,
    Command,
    DeleteCluster,
    EngineError,
    SetPreemption,
    SubmitGroup,
)
from mlctl.simulator.engine.jobs import JobStatus
from mlctl.simulator.engine.model import ClusterSpec, GroupSpec, MemberSpec, SimulationSettings
from mlctl.simulator.engine.processes import Poisson
from mlctl.simulator.engine.state import World
from tests.builders.histories import AT_ONCE, batch, cluster, ended, lines, training, world

SLOW = replace(AT_ONCE, allocation_s=180.0, preparation_s=60.0)
DONE, FAILED, CANCELED = JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELED


def step(name: str, seconds: float, *after: str, **more: object) -> MemberSpec:
    return MemberSpec(training(1, seconds, name=name, **more), after)


def group(*members: MemberSpec, name: str = "j", **more: object) -> GroupSpec:
    return replace(GroupSpec(name, members), **more)  # type: ignore[arg-type]  # fields by name


def run(
    spec: GroupSpec, most: int = 4, *, settings: SimulationSettings = AT_ONCE, low: bool = False
) -> World:
    return world(AddCluster(cluster(most, low=low)), SubmitGroup(spec), settings=settings)


def statuses(made: World, name: str = "j") -> list[JobStatus]:
    return list((views.job(made, name).members or {}).values())


def test_a_chain_waits_for_a_node_once_and_takes_the_sum_of_its_steps() -> None:
    chain = [step("s0", 100)] + [step(f"s{n}", 100, f"s{n - 1}") for n in range(1, 5)]
    made = run(group(*chain), settings=SLOW)
    assert ended(made).makespan_s == 180 + 60 + 5 * 100
    begun = [views.job(made, f"s{n}").started for n in range(5)]
    assert begun == [240 + 100 * n for n in range(5)]


def test_a_chain_over_clusters_waits_for_a_node_of_each() -> None:
    other = training(1, 50, name="b", cluster="d")
    made = world(
        *(AddCluster(cluster(1)), AddCluster(cluster(1, name="d"))),
        SubmitGroup(group(step("a", 100), MemberSpec(other, ("a",)))),
        settings=SLOW,
    )
    assert ended(made).makespan_s == (240 + 100) + (240 + 50)


@pytest.mark.parametrize(("most", "rounds"), [(1, 6), (2, 3), (4, 2), (6, 1), (9, 1)])
def test_a_fan_out_is_bounded_by_the_nodes_of_its_cluster(most: int, rounds: int) -> None:
    fan = [step("in", 10), *(step(f"s{n}", 100, "in") for n in range(6))]
    fan.append(step("out", 10, *(f"s{n}" for n in range(6))))
    assert ended(run(group(*fan), most)).makespan_s == 10 + rounds * 100 + 10


@pytest.mark.parametrize(("at_once", "rounds"), [(1, 6), (2, 3), (4, 2), (None, 1)])
def test_trials_run_no_more_at_once_than_they_may(at_once: int | None, rounds: int) -> None:
    trials = [step(f"t{n}", 100) for n in range(6)]
    assert ended(run(group(*trials, at_once=at_once), 6)).makespan_s == rounds * 100


def test_a_pipeline_in_a_pipeline_is_a_step_that_ends_with_its_last() -> None:
    inner = group(step("a", 10), step("b", 20, "a"), name="inner")
    made = run(group(step("first", 5), MemberSpec(inner, ("first",)), step("last", 7, "inner")))
    assert ended(made).makespan_s == 5 + 30 + 7
    assert views.job(made, "inner").makespan_s == 30
    assert views.job(made, "last").started == 35


def test_a_parallel_step_runs_its_mini_batches_on_its_nodes() -> None:
    score = MemberSpec(batch(8, 10, 2, name="score"), ("prep",))
    assert ended(run(group(step("prep", 100), score))).makespan_s == 100 + 40


def test_serverless_steps_get_nodes_of_their_own_and_leave_nothing() -> None:
    own = ClusterSpec("own")
    score = MemberSpec(batch(8, 10, 2, name="score", on="own"), ("train",), own)
    train = step("train", 100, cluster="", serverless=ClusterSpec("train-nodes"))
    made = world(SubmitGroup(group(train, score)), settings=SLOW)
    assert ended(made).makespan_s == (240 + 100) + (240 + 40)
    assert made.clusters == {}


def test_what_needs_a_failed_step_is_cancelled_and_the_others_go_on() -> None:
    made = run(
        group(step("bad", 10, fail_probability=1.0), step("after", 10, "bad"), step("free", 50))
    )
    view = ended(made)
    assert (view.status, view.makespan_s) == (FAILED, 50)
    assert statuses(made) == [FAILED, CANCELED, DONE]
    assert view.reason == "`bad`: the command failed"
    assert views.job(made, "after").reason == "`bad` did not complete"


def test_a_pipeline_that_does_not_go_on_cancels_what_runs() -> None:
    bad = step("bad", 10, fail_probability=1.0)
    made = run(group(bad, step("free", 50), step("last", 5, "free"), goes_on=False))
    assert ended(made).makespan_s == 10
    assert statuses(made) == [FAILED, CANCELED, CANCELED]


def test_a_failure_in_an_inner_pipeline_is_one_of_the_outer() -> None:
    inner = group(step("a", 10, fail_probability=1.0), name="inner")
    made = run(group(MemberSpec(inner), step("last", 7, "inner")))
    assert (ended(made).status, statuses(made)) == (FAILED, [FAILED, CANCELED])


def test_one_completed_trial_is_enough() -> None:
    bad, good = step("a", 10, fail_probability=1.0), step("b", 10)
    assert ended(run(group(bad, good, any_will_do=True))).status is DONE
    assert ended(run(group(bad, any_will_do=True))).status is FAILED


def test_to_cancel_a_pipeline_is_to_cancel_its_steps() -> None:
    inner = group(step("c", 10), name="inner")
    made = run(group(step("a", 100), step("b", 10, "a"), MemberSpec(inner, ("a",))))
    engine.run(made, 50)
    engine.apply(made, CancelJob("j"))
    assert statuses(made) == [CANCELED] * 3
    assert views.job(made, "c").status is CANCELED
    assert views.job(made, "j").ended == 50
    engine.run(made, 1000)
    assert made.clusters["c"].nodes == {}


def test_to_cancel_a_step_cancels_what_needs_it() -> None:
    made = run(group(step("a", 100), step("b", 10, "a"), step("c", 200)))
    engine.run(made, 50)
    engine.apply(made, CancelJob("a"))
    view = ended(made)
    assert (view.status, view.makespan_s) == (CANCELED, 200)
    assert statuses(made) == [CANCELED, CANCELED, DONE]


def test_a_pipeline_whose_time_is_over_is_cancelled() -> None:
    view = ended(run(group(step("a", 100), step("b", 100, "a"), max_runtime_s=150.0)))
    assert (view.status, view.makespan_s) == (CANCELED, 150)


def test_a_reused_step_takes_no_time_and_no_node() -> None:
    again = replace(step("a", 100), reused=True)
    made = run(group(again, step("b", 10, "a")), settings=SLOW)
    assert ended(made).makespan_s == 240 + 10
    assert views.job(made, "a").billed_node_s == 0


def test_a_step_whose_cluster_has_gone_fails() -> None:
    late = MemberSpec(training(1, 10, name="b", cluster="d"), ("a",))
    made = world(
        *(AddCluster(cluster(1)), AddCluster(cluster(1, name="d"))),
        SubmitGroup(group(step("a", 100), late)),
    )
    engine.apply(made, DeleteCluster("d"))
    assert (ended(made).status, statuses(made)) == (FAILED, [DONE, FAILED])


def test_a_pipeline_is_billed_what_its_steps_are() -> None:
    made = run(group(step("a", 100), step("b", 50), step("c", 25, "a", "b")), 2, settings=SLOW)
    view = ended(made)
    parts = [views.job(made, name).billed_node_s for name in "abc"]
    assert view.billed_node_s == sum(parts) > 0


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (group(), "nothing to run"),
        (group(step("a", 1), step("a", 1)), "two jobs have the name `a`"),
        (group(step("a", 1, "z")), "waits for `z`"),
        (group(step("a", 1, "b"), step("b", 1, "a")), "wait for each other: `a` -> `b` -> `a`"),
        (group(step("a", 1, cluster="z")), "no cluster `z`"),
        (group(step("a", -1)), "the time per step"),
        (group(step("a", 1), at_once=0), "at least 1 at a time"),
        (group(step("a", 1, fail_probability=2.0)), "the probability to fail"),
    ],
)
def test_a_pipeline_that_cannot_be_is_refused_and_nothing_changes(
    wrong: GroupSpec, why: str
) -> None:
    made = world(AddCluster(cluster(1)))
    before = snapshot.dump(made)
    with pytest.raises(EngineError, match=why):
        engine.apply(made, SubmitGroup(wrong))
    assert snapshot.dump(made) == before


@st.composite
def graphs(draw: st.DrawFn) -> GroupSpec:
    """A random pipeline: steps that need earlier ones, some of them failing, reused or nested."""
    count = draw(st.integers(1, 7))
    made = []
    for n in range(count):
        after = draw(st.lists(st.integers(0, n - 1), unique=True)) if n else []
        seconds = draw(st.integers(1, 100))
        failing = draw(st.sampled_from([0.0, 0.0, 0.0, 0.5, 1.0]))
        one = step(f"s{n}", seconds, *(f"s{m}" for m in after), fail_probability=failing)
        if draw(st.integers(0, 5)) == 0:
            inner = group(step(f"s{n}x", seconds), step(f"s{n}y", 3, f"s{n}x"), name=f"s{n}")
            one = MemberSpec(inner, one.after)
        reused = draw(st.integers(0, 6)) == 0 and not isinstance(one.spec, GroupSpec)
        made.append(replace(one, reused=reused))
    order = draw(st.permutations(made))
    goes_on = draw(st.booleans())
    return group(*order, at_once=draw(st.sampled_from([None, 1, 2])), goes_on=goes_on)


def _history(spec: GroupSpec, seed: str) -> tuple[list[str], World]:
    commands: list[Command] = [SetPreemption((Poisson(30.0),)), AddCluster(cluster(3, low=True))]
    made = world(*commands, settings=SLOW, seed=seed)
    told = engine.apply(made, SubmitGroup(spec))
    return lines([*told, *engine.wait(made, "j", 1e7)]), made


@given(spec=graphs(), seed=st.sampled_from("abcd"))
def test_no_step_begins_before_those_that_it_needs_have_completed(
    spec: GroupSpec, seed: str
) -> None:
    _, made = _history(spec, seed)
    assert views.job(made, "j").status.ended
    for member in spec.members:
        one = views.job(made, member.spec.name)
        needed = [views.job(made, name) for name in member.after]
        assert one.status.ended
        if one.started is not None:
            assert all(each.status is DONE for each in needed)
            assert one.started >= max((each.ended or 0 for each in needed), default=0)
        elif spec.goes_on:
            assert any(each.status is not DONE for each in needed)


@given(spec=graphs(), seed=st.sampled_from("abcd"), cuts=st.lists(st.floats(0, 3000), max_size=3))
def test_a_pipeline_has_one_history_however_often_it_was_stored(
    spec: GroupSpec, seed: str, cuts: list[float]
) -> None:
    events, whole = _history(spec, seed)
    commands: list[Command] = [SetPreemption((Poisson(30.0),)), AddCluster(cluster(3, low=True))]
    made = world(*commands, settings=SLOW, seed=seed)
    submit = snapshot.load_command(snapshot.dump_command(SubmitGroup(spec)))
    told = engine.apply(made, submit)
    end = whole.now
    for _, at in pairwise([0.0, *sorted(min(one, end) for one in cuts), end]):
        made = snapshot.load(snapshot.dump(made))
        told += list(engine.advance(made, at))
    assert lines(told)[: len(events)] == events
