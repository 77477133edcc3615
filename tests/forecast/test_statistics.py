"""Intervals, beside published tables and beside what they promise: to cover 95 %."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb, expm1, fsum, log1p, sqrt
from random import Random

import pytest

from mlctl.forecast import statistics

RUNS = 400


@pytest.mark.parametrize(
    ("hits", "runs", "low", "high"),
    [
        # Clopper and Pearson at 95 %, as binom.test of R prints them.
        (1, 10, 0.002528579, 0.445016117),
        (5, 10, 0.187086028, 0.812913972),
        (10, 100, 0.049004689, 0.176222598),
        (50, 1000, 0.037335408, 0.065390546),
        (283, 1000, 0.255264, 0.312036),
    ],
)
def test_a_chance_has_the_interval_of_the_tables(
    hits: int, runs: int, low: float, high: float
) -> None:
    found = statistics.chance(hits, runs)
    assert found.low == pytest.approx(low, rel=2e-4)
    assert found.high == pytest.approx(high, rel=2e-4)


@pytest.mark.parametrize(("hits", "runs"), [(3, 17), (40, 90), (1, 300), (299, 300)])
def test_the_bounds_of_a_chance_leave_a_fortieth_on_each_side(hits: int, runs: int) -> None:
    found = statistics.chance(hits, runs)
    above = fsum(
        comb(runs, k) * found.low**k * (1 - found.low) ** (runs - k) for k in range(hits, runs + 1)
    )
    below = fsum(
        comb(runs, k) * found.high**k * (1 - found.high) ** (runs - k) for k in range(hits + 1)
    )
    assert above == pytest.approx(0.025, rel=1e-9)
    assert below == pytest.approx(0.025, rel=1e-9)


@pytest.mark.parametrize(("runs", "bound"), [(300, 0.0100), (1000, 0.0030), (3000, 0.0010)])
def test_what_never_happened_has_an_upper_bound(runs: int, bound: float) -> None:
    found = statistics.chance(0, runs)
    assert (found.value, found.low) == (0, 0)
    assert found.high == pytest.approx(bound, abs=1e-4)
    assert found.high == pytest.approx(-expm1(log1p(-0.95) / runs))


@pytest.mark.parametrize(
    ("degrees", "p", "t"),
    [
        (1, 0.975, 12.7062),
        (2, 0.975, 4.30265),
        (10, 0.975, 2.22814),
        (10, 0.995, 3.16927),
        (30, 0.975, 2.04227),
        (100, 0.95, 1.66023),
        (999, 0.975, 1.96234),
    ],
)
def test_student_has_the_quantiles_of_the_tables(degrees: int, p: float, t: float) -> None:
    assert statistics.student_quantile(p, degrees) == pytest.approx(t, rel=1e-5)


def test_the_interval_of_a_median_lies_between_the_ranks_of_the_tables() -> None:
    # Of 100 values the median lies between the 40th and the 61st with 96.5 % (Conover, table A3).
    found = statistics.quantile_interval(list(range(1, 101)), 0.5)
    assert (found.value, found.low, found.high) == (50, 40, 61)


def test_few_values_bound_no_far_quantile() -> None:
    found = statistics.quantile_interval([1.0, 2.0, 3.0], 0.95)
    assert (found.value, found.high) == (3, float("inf"))


def exponentials(seed: int, count: int) -> list[float]:
    chance = Random(f"statistics/{seed}")  # keyed by text: seeds 0, 1, 2, ... are an unlucky block
    return [chance.expovariate(1.0) for _ in range(count)]


def covered(of: Iterator[statistics.Estimate], truth: float) -> float:
    """The share of intervals that hold the truth."""
    held = [one.low <= truth <= one.high for one in of]
    return sum(held) / len(held)


def test_of_400_studies_the_intervals_of_a_mean_cover_the_truth_as_often_as_they_say() -> None:
    share = covered((statistics.mean(exponentials(one, 200)) for one in range(RUNS)), 1.0)
    assert 0.92 <= share <= 0.98


@pytest.mark.parametrize(("q", "truth"), [(0.5, 0.693147), (0.95, 2.995732)])
def test_of_400_studies_the_intervals_of_a_quantile_cover_the_truth(q: float, truth: float) -> None:
    sorted_values = (sorted(exponentials(one, 300)) for one in range(RUNS))
    share = covered((statistics.quantile_interval(one, q) for one in sorted_values), truth)
    assert 0.92 <= share <= 0.99


def test_of_400_studies_the_intervals_of_a_chance_cover_the_truth() -> None:
    counts = (sum(one > 2.0 for one in exponentials(seed, 300)) for seed in range(RUNS))
    share = covered((statistics.chance(hits, 300) for hits in counts), 2.718281828**-2)
    assert 0.92 <= share <= 0.99


def test_an_estimate_of_equal_values_is_exact() -> None:
    found = statistics.mean([0.1] * 1000)
    assert found.low == found.high == pytest.approx(0.1)


def test_the_spread_of_a_mean_is_that_of_its_values() -> None:
    found = statistics.mean([1.0, 2.0, 3.0, 4.0])
    assert found.high - found.value == pytest.approx(3.18245 * sqrt(5 / 3 / 4), rel=1e-5)
