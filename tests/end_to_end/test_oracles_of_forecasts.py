"""`mlctl simulate`, from the shell, against closed forms: fixed seeds, z below 4."""

from __future__ import annotations

from math import exp, expm1, sqrt
from pathlib import Path

import pytest

from tests.builders.forecasts import (
    AT_ONCE,
    EXACT,
    HOUR,
    forecast,
    near,
    runs,
    weather,
    work,
)
from tests.builders.shell import Run

NEVER = ("--setting", "cancel_when_preempted=false", "--setting", "progress_update_timeout_s=0")


def test_dedicated_nodes_take_and_bill_what_division_says(mlctl: Run, sample: Path) -> None:
    flags = (
        *work(20, 1000, 60),
        "--allocation",
        "300",
        "--preparation",
        "0",
        "--price",
        "1",
        "--runs",
        "2",
    )
    row = forecast(mlctl, sample, *flags)["dedicated"]
    assert row["completion_s"]["p50"]["value"] == 3300
    assert row["cost"]["mean"]["value"] == pytest.approx(62_400 / HOUR, rel=1e-12)


def test_resubmitting_an_hour_under_full_shocks_takes_what_the_exponential_says(
    mlctl: Run, sample: Path
) -> None:
    storm = weather(shocks={"per_hour": 0.1, "fraction": 1})
    flags = (*work(2, 2, HOUR), *AT_ONCE, *EXACT, "--weather", storm, *runs())
    row = forecast(mlctl, sample, *flags)["weather"]
    rate, length = 0.1, 1.0
    mean = expm1(rate * length) / rate  # 1.051709 h
    variance = (exp(2 * rate) - 2 * rate * exp(rate) - 1) / rate**2
    assert mean == pytest.approx(1.051709, abs=1e-6)
    assert near(row["until_done"]["time_s"]["value"] / HOUR, mean, sqrt(variance))
    assert near(row["cancelled"]["value"], -expm1(-rate), 0.5)
    assert near(row["until_done"]["runs"], exp(rate), sqrt(exp(2 * rate) - exp(rate)))


def test_one_node_is_cancelled_as_often_as_the_exponential_says(mlctl: Run, sample: Path) -> None:
    windy = weather(rate=0.2)
    flags = (*work(1, 100, 60), *AT_ONCE, *EXACT, "--policy", "once", "--weather", windy, *runs())
    row = forecast(mlctl, sample, *flags)["weather"]
    chance = -expm1(-0.2 * 100 / 60)
    assert chance == pytest.approx(0.283469, abs=1e-6)
    assert near(row["cancelled"]["value"], chance, sqrt(chance * (1 - chance)))
    assert near(row["until_done"]["time_s"]["value"] / HOUR, chance / 0.2, 0.5)  # 1.417343 h


def test_a_task_that_is_never_cancelled_takes_what_the_exponential_says(
    mlctl: Run, sample: Path
) -> None:
    windy = weather(rate=0.1)
    flags = (*work(1, 1, 2 * HOUR), *AT_ONCE, *EXACT, *NEVER, "--weather", windy, *runs())
    row = forecast(mlctl, sample, *flags)["weather"]
    assert near(row["until_done"]["time_s"]["value"] / HOUR, 2.214028, sqrt(0.326359))
    assert near(row["preempted_nodes"], expm1(0.2), 0.52)


def test_retries_end_as_often_as_counting_says(mlctl: Run, sample: Path) -> None:
    failing = (
        "--fail-probability",
        "0.1",
        "--override",
        "batch-deployment.settings.error_threshold=0",
    )
    more = ("--setting", "retries_are_tries=false", "--runs", "400", "--tier", "dedicated")
    row = forecast(mlctl, sample, *work(4, 1000, 1), *AT_ONCE, *failing, *more)["dedicated"]
    assert near(row["completed"] / 400, 0.904833, 0.294, 400)
    assert near(row["attempts"], 1111.0, 40, 400)


@pytest.mark.parametrize("spread", ["0", "1"])
def test_downtime_is_paid_for_every_loss_however_it_is_spread(
    mlctl: Run, sample: Path, spread: str
) -> None:
    windy, down = weather(rate=0.5), 0.25
    slow = ("--allocation", "0", "--preparation", "0", "--replacement", f"{down * HOUR:.0f}")
    flags = (*work(1, 1, HOUR), *slow, "--delay-cv", spread, *EXACT, *NEVER)
    row = forecast(mlctl, sample, *flags, "--weather", windy, *runs())["weather"]
    losses = expm1(0.5)  # on average, geometric
    mean = losses * (1 / 0.5 + down)
    assert near(row["preempted_nodes"], losses, sqrt(losses + losses**2))
    assert near(row["until_done"]["time_s"]["value"] / HOUR, mean, 2.5)


@pytest.mark.parametrize("spread", [None, 2.0])
def test_outages_are_waited_for_whatever_their_spread(
    mlctl: Run, sample: Path, spread: float | None
) -> None:
    told = {"per_hour": 0.5, "mean_h": 0.5} | ({"cv": spread} if spread else {})
    flags = (*work(2, 2, HOUR), *AT_ONCE, *EXACT, *NEVER, "--weather", weather(outages=told))
    row = forecast(mlctl, sample, *flags, *runs())["weather"]
    mean = expm1(0.5) * (1 / 0.5 + 0.5)
    assert near(row["until_done"]["time_s"]["value"] / HOUR, mean, 3.5)


def test_a_fallback_pays_one_lost_run_and_a_dedicated_one(mlctl: Run, sample: Path) -> None:
    storm = weather(shocks={"per_hour": 0.5, "fraction": 1})
    flags = (*work(2, 2, HOUR), *AT_ONCE, *EXACT, "--price", "1", "--low-priority-ratio", "0.2")
    plan = ("--policy", "fallback:1", "--weather", storm)
    row = forecast(mlctl, sample, *flags, *plan, *runs())["weather"]
    lost = -expm1(-0.5)
    tried = lost / 0.5  # hours of the first run, on average
    assert near(row["until_done"]["time_s"]["value"] / HOUR, tried + lost, 0.6)
    assert near(row["until_done"]["cost"]["value"], 2 * (0.2 * tried + lost), 1.0)
    assert row["until_done"]["not_done"] == 0


def test_a_deadline_is_missed_as_often_as_the_renewals_say(mlctl: Run, sample: Path) -> None:
    # Done by 1.5 h: no shock in the first hour, or the last one of the first half hour, whenever it
    # was, is followed by an hour without any: exp(-r) (1 + r / 2).
    rate = 0.5
    storm = weather(shocks={"per_hour": rate, "fraction": 1})
    flags = (*work(2, 2, HOUR), *AT_ONCE, *EXACT, "--weather", storm, "--deadline", "90m")
    row = forecast(mlctl, sample, *flags, *runs())["weather"]
    late = 1 - exp(-rate) * (1 + rate / 2)
    assert near(row["late"]["value"], late, sqrt(late * (1 - late)))
    plan = ("--policy", "deadline")
    row = forecast(mlctl, sample, *flags, *plan, *runs())["weather"]
    assert row["late"]["value"] == 0


def test_remaining_files_are_all_that_a_lost_run_leaves(mlctl: Run, sample: Path) -> None:
    storm = weather(shocks={"per_hour": 1, "fraction": 1})
    flags = (*work(1, 3600, 1), *AT_ONCE, *EXACT, "--policy", "remaining", "--weather", storm)
    row = forecast(mlctl, sample, *flags, *runs(400))["weather"]
    # One loss an hour, and each takes half a mini-batch with it.
    assert near(row["until_done"]["time_s"]["value"], HOUR + 0.5, 1.0, 400)
    assert near(row["until_done"]["runs"], 2, 1, 400)
