"""Uniform progress, and jobs in shards: what they do, when, and what they never miss."""

from __future__ import annotations

from dataclasses import replace
from math import expm1
from statistics import mean

import pytest

from mlctl.forecast.batch.policy import RecoveryPolicy, Switch, Way, parse, sizes
from mlctl.forecast.batch.study import Study, with_deadline
from mlctl.forecast.scenario import Scenario
from mlctl.simulator.engine.model import HOUR, Tier
from mlctl.simulator.engine.processes import OnOff, Poisson, PreemptionProcess
from tests.forecast.batch.test_policy import scenario

EVENLY = RecoveryPolicy(Way.UNIFORM_PROGRESS)
SWITCH = Switch(200.0, 5.0, 100.0, 10, 1.0)
CHANGE_S = 11.0  # two starts and a round of it


def evenly(of: Scenario, deadline_h: float, shards: int | None = None) -> Study:
    study = Study(of, replace(EVENLY, shards=shards))
    [known] = with_deadline([study], deadline_h * HOUR)
    return known


def with_starts(*processes: PreemptionProcess, hours: float) -> Scenario:
    at_once = scenario(*processes, hours=hours)
    return replace(at_once, settings=replace(at_once.settings, preparation_s=120.0))


def test_the_policy_is_named_on_the_command_line() -> None:
    assert parse("uniform-progress") == EVENLY
    with pytest.raises(
        ValueError, match="fallback:K, deadline, remaining, uniform-progress, reserve"
    ):
        parse("uniform")


@pytest.mark.parametrize(
    ("elapsed", "losses", "files", "last", "tier"),
    [
        (0.0, 0, 10, None, Tier.LOW_PRIORITY),
        (39.0, 1, 8, Tier.LOW_PRIORITY, Tier.LOW_PRIORITY),  # before the line
        (40.0, 1, 8, Tier.LOW_PRIORITY, Tier.DEDICATED),  # on it
        (60.0, 0, 8, Tier.LOW_PRIORITY, Tier.LOW_PRIORITY),  # behind, but its nodes are there
        (60.0 - CHANGE_S, 0, 7, Tier.DEDICATED, Tier.LOW_PRIORITY),  # far enough ahead
        (61.0 - CHANGE_S, 0, 7, Tier.DEDICATED, Tier.DEDICATED),
        (95.0, 0, 10, Tier.LOW_PRIORITY, Tier.DEDICATED),  # the rest just fits
    ],
)
def test_it_keeps_to_the_line(
    elapsed: float, losses: int, files: int, last: Tier | None, tier: Tier
) -> None:
    policy = replace(EVENLY, switch=SWITCH)
    assert policy.tier(elapsed, losses, files, last) is tier


def test_a_run_without_work_goes_on_to_the_line_and_one_with_work_while_the_rest_fits() -> None:
    limit = replace(EVENLY, switch=SWITCH).limit(Tier.LOW_PRIORITY, 10.0, 8, 1)
    assert limit is not None
    assert limit(0) == SWITCH.line(8) == pytest.approx(40.0)
    assert limit(1) == SWITCH.at(7)


@pytest.mark.parametrize("reserve", [None, 0.1, 0.3])
def test_a_dedicated_run_that_is_given_up_is_followed_by_a_look_at_low_priority(
    reserve: float | None,
) -> None:
    """A mini-batch that is half done then does not count; it must not lead to another change."""
    for round_s in (1.0, 7.0, 60.0):
        switch = Switch(18 * HOUR, 180.0, 12 * HOUR, int(12 * HOUR / round_s), round_s, reserve)
        policy = replace(EVENLY, switch=switch)
        for files in range(switch.files // 2, switch.files, 97):
            elapsed = switch.line(files) + 1.0
            limit = policy.limit(Tier.DEDICATED, elapsed, files, 1)
            assert limit is not None
            done = int((limit(0) - elapsed - switch.start_s) / round_s)
            assert policy.tier(limit(0), 0, files - done, Tier.DEDICATED) is Tier.LOW_PRIORITY
            assert limit(0) < elapsed + 2 * HOUR


def test_a_reserve_is_a_share_of_what_the_rest_takes_and_no_more_than_there_is() -> None:
    kept = replace(SWITCH, reserve=0.5)
    assert [kept.line(files) for files in (0, 5, 10)] == [200.0, 125.0, 50.0]
    assert replace(SWITCH, reserve=3.0).line(7) == SWITCH.line(7)
    policy = RecoveryPolicy(Way.RESERVE, switch=kept)
    assert policy.tier(49.0, 1, 10, Tier.LOW_PRIORITY) is Tier.LOW_PRIORITY
    assert policy.tier(50.0, 1, 10, Tier.LOW_PRIORITY) is Tier.DEDICATED


def test_in_calm_weather_all_is_done_on_low_priority() -> None:
    study = evenly(scenario(hours=10), 12)
    summary = study.summary(study.histories(range(1)), 12 * HOUR)
    assert summary.costs_until_done == [pytest.approx(2.0)]
    assert summary.switched.value == 0


def test_in_an_endless_outage_dedicated_nodes_keep_the_deadline() -> None:
    [history] = evenly(with_starts(OnOff(1e-9, 1e9, out_s=1e8), hours=4), 6).histories(range(1))
    assert history.done
    assert 5.5 * HOUR < history.done_s <= 6 * HOUR
    assert history.low_s == 0.0


@pytest.mark.parametrize("shards", [None, 12])
@pytest.mark.parametrize("way", [Way.UNIFORM_PROGRESS, Way.RESERVE])
def test_no_weather_makes_it_late(way: Way, shards: int | None) -> None:
    changing = with_starts(OnOff(2 * HOUR, HOUR), Poisson(0.3), hours=2)
    [study] = with_deadline([Study(changing, RecoveryPolicy(way, shards=shards))], 3 * HOUR)
    histories = study.histories(range(12))
    assert all(run.done and run.done_s <= 3 * HOUR for run in histories)
    assert any(run.dedicated_s and run.low_s for run in histories)


def test_shards_are_whole_mini_batches_as_even_as_they_go() -> None:
    assert sizes(10, 3, 1) == [4, 3, 3]
    assert sizes(2, 5, 1) == [1, 1]
    assert sizes(65, 3, 10) == [30, 20, 15]


def test_shards_under_a_poisson_loss_are_run_as_often_as_the_closed_form_says() -> None:
    """A shard of T hours on a node that is lost at a rate r is run exp(rT) times on average."""
    study = Study(scenario(Poisson(0.5), hours=4), RecoveryPolicy(shards=4))
    histories = study.histories(range(400))
    assert all(run.done for run in histories)
    assert mean(run.tries for run in histories) / 4 == pytest.approx(1 + expm1(0.5), rel=0.05)
    lost_h = mean(run.low_s for run in histories) / HOUR / 4 - 1
    assert lost_h == pytest.approx(expm1(0.5) / 0.5 - 1, rel=0.1)
