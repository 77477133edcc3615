"""`mlctl simulate`, from the shell, against closed forms: fixed seeds, z below 4."""

from __future__ import annotations

from math import exp, expm1, log1p, sqrt
from pathlib import Path
from statistics import NormalDist

import pytest

from mlctl.forecast.statistics import student_quantile
from tests.builders.forecasts import (
    AT_ONCE,
    EXACT,
    HOUR,
    RUNS,
    forecast,
    near,
    runs,
    same,
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
    assert same(row["completion_s"]["p50"]["value"], 3300)
    assert same(row["cost"]["mean"]["value"], 62_400 / HOUR)
    row = forecast(mlctl, sample, *flags, "--setting", "bill_allocating=true")["dedicated"]
    assert same(row["cost"]["mean"]["value"], 19)
    row = forecast(mlctl, sample, *flags, "--files", "1001")["dedicated"]
    assert same(row["completion_s"]["p50"]["value"], 3360)


@pytest.mark.slow
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


@pytest.mark.slow
def test_one_node_is_cancelled_as_often_as_the_exponential_says(mlctl: Run, sample: Path) -> None:
    windy = weather(rate=0.2)
    flags = (*work(1, 100, 60), *AT_ONCE, *EXACT, "--policy", "once", "--weather", windy, *runs())
    row = forecast(mlctl, sample, *flags)["weather"]
    chance = -expm1(-0.2 * 100 / 60)
    assert chance == pytest.approx(0.283469, abs=1e-6)
    assert near(row["cancelled"]["value"], chance, sqrt(chance * (1 - chance)))
    assert near(row["until_done"]["time_s"]["value"] / HOUR, chance / 0.2, 0.5)  # 1.417343 h


@pytest.mark.slow
def test_a_task_that_is_never_cancelled_takes_what_the_exponential_says(
    mlctl: Run, sample: Path
) -> None:
    windy = weather(rate=0.1)
    flags = (*work(1, 1, 2 * HOUR), *AT_ONCE, *EXACT, *NEVER, "--weather", windy, *runs())
    row = forecast(mlctl, sample, *flags)["weather"]
    assert near(row["until_done"]["time_s"]["value"] / HOUR, 2.214028, sqrt(0.326359))
    assert near(row["preempted_nodes"], expm1(0.2), 0.52)


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_long_way_to_a_node_that_an_outage_cuts_off_is_drawn_again(
    mlctl: Run, sample: Path
) -> None:
    """Each attempt has a delay of its own: a renewal at each outage, and 1 s of work."""
    rate, down, mean, spread = 2.0, 0.1, 0.25, 2.0  # per hour; hours
    slow = ("--allocation", "15m", "--preparation", "0", "--delay-cv", f"{spread:g}")
    storm = weather(outages={"per_hour": rate, "mean_h": down})
    flags = (*work(1, 1, 1), *slow, *EXACT, *NEVER, "--weather", storm)
    row = forecast(mlctl, sample, *flags, *runs())["weather"]
    variance = log1p(spread**2)
    steps = [(at + 0.5) / 20_000 for at in range(20_000)]
    scale = sqrt(variance)
    delays = (mean * exp(scale * NormalDist().inv_cdf(u) - variance / 2) for u in steps)
    success = sum(exp(-rate * delay) for delay in delays) / len(steps)
    expected = (1 - success) / success * (1 / rate + down)
    assert near(row["until_done"]["time_s"]["value"] / HOUR, expected + 1 / HOUR, 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("spread", [None, 2.0])
def test_outages_are_waited_for_whatever_their_spread(
    mlctl: Run, sample: Path, spread: float | None
) -> None:
    told = {"per_hour": 0.5, "mean_h": 0.5} | ({"cv": spread} if spread else {})
    flags = (*work(2, 2, HOUR), *AT_ONCE, *EXACT, *NEVER, "--weather", weather(outages=told))
    row = forecast(mlctl, sample, *flags, *runs())["weather"]
    mean = expm1(0.5) * (1 / 0.5 + 0.5)
    assert near(row["until_done"]["time_s"]["value"] / HOUR, mean, 3.5)


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_ten_files_on_two_nodes_with_two_at_once_take_three_rounds(
    mlctl: Run, sample: Path
) -> None:
    both = "batch-deployment.settings.max_concurrency_per_instance=2"
    flags = (*work(2, 10, 60), "--override", both, *AT_ONCE, "--runs", "2")
    row = forecast(mlctl, sample, *flags)["dedicated"]
    assert same(row["completion_s"]["p50"]["value"], 180)


@pytest.mark.slow
def test_the_time_of_a_task_that_starts_again_spreads_as_theory_says(
    mlctl: Run, sample: Path
) -> None:
    windy = weather(rate=0.1)
    flags = (*work(1, 1, 2 * HOUR), *AT_ONCE, *EXACT, *NEVER, "--weather", windy, *runs())
    of = forecast(mlctl, sample, *flags)["weather"]["until_done"]["time_s"]
    variance = (
        ((of["high"] - of["low"]) / 2 / HOUR) ** 2 * RUNS / student_quantile(0.975, 1999) ** 2
    )
    truth = (exp(0.4) - 0.4 * exp(0.2) - 1) / 0.1**2
    assert truth == pytest.approx(0.326359, abs=1e-6)
    assert near(
        variance, truth, 1.29
    )  # of the squared deviation, by 200 000 draws of the closed form


@pytest.mark.slow
def test_a_job_on_one_node_gets_as_far_as_theory_says(mlctl: Run, sample: Path) -> None:
    windy = weather(rate=0.2)
    flags = (*work(1, 100, 60), *AT_ONCE, *EXACT, "--policy", "once", "--weather", windy, *runs())
    row = forecast(mlctl, sample, *flags)["weather"]
    step = exp(-0.2 / 60)
    done = step * (1 - step**100) / (1 - step)
    assert done == pytest.approx(84.898951, abs=1e-6)
    # A cancelled job has tried one mini-batch more than it did.
    assert near(row["attempts"], done + 1 - step**100, 28.5)


@pytest.mark.slow
def test_nodes_that_are_not_replaced_are_all_lost_after_the_harmonic_number(
    mlctl: Run, sample: Path
) -> None:
    windy, once = weather(rate=0.5), ("--policy", "once", "--setting", "replace=false")
    flags = (*work(4, 4, 1000 * HOUR), *AT_ONCE, *EXACT, *once, "--weather", windy, *runs())
    patient = ("--setting", "progress_update_timeout_s=10000000")
    row = forecast(mlctl, sample, *flags, *patient)["weather"]
    assert near(row["until_done"]["time_s"]["value"] / HOUR, 25 / 12 / 0.5, 2 * 1.1932)
    assert near(row["preempted_nodes"], 4, 0.01)


@pytest.mark.slow
def test_shocks_that_miss_some_nodes_leave_the_chain_that_counting_says(
    mlctl: Run, sample: Path
) -> None:
    rate, share = 1.0, 0.5
    storm = weather(shocks={"per_hour": rate, "fraction": share})
    once = ("--policy", "once", "--setting", "replace=false")
    flags = (*work(2, 2, 1000 * HOUR), *AT_ONCE, *EXACT, *once, "--weather", storm, *runs())
    patient = ("--setting", "progress_update_timeout_s=10000000")
    row = forecast(mlctl, sample, *flags, *patient)["weather"]
    hit = 1 - (1 - share) ** 2  # a shock takes any of two
    alone = 2 * share * (1 - share) / hit  # and leaves one
    assert near(row["until_done"]["time_s"]["value"] / HOUR, 1 / hit + alone / share, 2.4)


@pytest.mark.parametrize("spread", ["0.5", "2"])
def test_a_log_normal_way_to_a_new_node_has_its_mean(mlctl: Run, sample: Path, spread: str) -> None:
    """A quarter of an hour on average, whatever its spread, and a minute of work."""
    slow = ("--allocation", "15m", "--preparation", "0", "--delay-cv", spread)
    flags = (*work(1, 1, 60), *slow, *EXACT, "--tier", "dedicated", "--runs", str(RUNS))
    row = forecast(mlctl, sample, *flags)["dedicated"]
    mean = row["until_done"]["time_s"]["value"]
    assert near(mean, 960, 900 * float(spread))


@pytest.mark.slow
def test_two_tries_and_a_dedicated_run_cost_what_the_renewals_say(mlctl: Run, sample: Path) -> None:
    storm = weather(shocks={"per_hour": 0.5, "fraction": 1})
    flags = (*work(2, 2, HOUR), *AT_ONCE, *EXACT, "--price", "1", "--low-priority-ratio", "0.2")
    plan = ("--policy", "fallback:2", "--weather", storm)
    row = forecast(mlctl, sample, *flags, *plan, *runs())["weather"]
    lost = -expm1(-0.5)
    tried = lost / 0.5 * (1 + lost)  # hours of one run, and of the second where there is one
    assert near(row["until_done"]["time_s"]["value"] / HOUR, tried + lost**2, 0.8)
    assert near(row["until_done"]["cost"]["value"], 2 * (0.2 * tried + lost**2), 1.0)


@pytest.mark.slow
def test_a_deadline_is_paid_by_the_dedicated_run_after_a_late_loss(
    mlctl: Run, sample: Path
) -> None:
    """Until 1.5 h, of an hour's work: low priority begins until half an hour has passed."""
    rate = 0.5
    storm = weather(shocks={"per_hour": rate, "fraction": 1})
    flags = (*work(2, 2, HOUR), *AT_ONCE, *EXACT, "--price", "1", "--low-priority-ratio", "0.2")
    plan = ("--policy", "deadline", "--deadline", "90m", "--weather", storm)
    row = forecast(mlctl, sample, *flags, *plan, *runs())["weather"]
    # What runs at 0.5 h is ended there, for a loss later on would leave no hour: no run on low
    # priority is ever done. So half an hour of low priority, then an hour of dedicated.
    assert same(row["until_done"]["time_s"]["value"], 1.5 * HOUR)
    assert same(row["until_done"]["cost"]["value"], 2 * (0.2 * 0.5 + 1))


def test_the_quota_of_a_region_holds_as_many_nodes_as_division_says(
    mlctl: Run, sample: Path
) -> None:
    """100 low-priority cores, 4 a node: 25 nodes, and not 26."""
    flags = ("--files", "100", "--seconds-per-file", "8", "--weather", "calm", "--runs", "10")
    vary = ("--vary", "max_instances=25,26")
    found = mlctl("advise", sample, *flags, *vary, "-o", "json").json
    assert [one["settings"]["max_instances"] for one in found["quota"]["over"]] == [26]
    assert "jobs get at most 25 nodes" in found["quota"]["over"][0]["why"]
