"""95 % intervals for chances, quantiles, means and differences, with the standard library.

Chances: Clopper and Pearson (Biometrika 26, 1934), with at least the stated coverage. Quantiles:
order statistics, whose ranks are binomial. Means and paired differences: Student's t, its scale
adjusted for skewness (Hall, J. R. Statist. Soc. B 54, 1992), since times and costs until done have
a long tail. All of them are quantiles of the beta distribution, computed by Lentz's continued
fraction (Numerical Recipes, 6.4; DLMF 8.17.22).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from math import cbrt, ceil, exp, fsum, inf, isfinite, lgamma, log, log1p, nan, sqrt
from typing import TYPE_CHECKING

from mlctl.dataclasses import dataclass

if TYPE_CHECKING:
    from mlctl.forecast import shape

_CONFIDENCE = 0.95
_TAIL = (1 - _CONFIDENCE) / 2
_BINS, _SHOWN = 20, 0.9
_SYMMETRIC = 1e-6  # a skewness below which nothing is adjusted
_TINY, _PRECISION, _MOST_TERMS = 1e-300, 1e-15, 10_000
_CLOSE = 1e-13


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and the interval with the true one, with a confidence of 95 %."""

    value: float
    low: float
    high: float


def exactly(value: float) -> Estimate:
    """Return a number that is certain, such as that of the only possible history."""
    return Estimate(value, value, value)


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the chance that a beta variable of shapes `a` and `b` (positive) is at most `x`."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(x, a, b) / a
    return 1.0 - front * _fraction(1 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    """Compute the continued fraction of the incomplete beta function."""
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1)
    d = 1.0 / (d or _TINY)
    value = d
    for m in range(1, _MOST_TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / ((1.0 + term * d) or _TINY)
            c = (1.0 + term / c) or _TINY
            value *= c * d
        if abs(c * d - 1.0) < _PRECISION:
            break
    return value


@lru_cache(maxsize=4096)
def beta_quantile(p: float, a: float, b: float) -> float:
    """Return the x at which `beta_cdf` is `p`: bisection, to a relative precision of 1e-13."""
    low, high = 0.0, 1.0
    while high - low > _CLOSE * high + _TINY:
        middle = (low + high) / 2
        if beta_cdf(middle, a, b) < p:
            low = middle
        else:
            high = middle
    return (low + high) / 2


@lru_cache(maxsize=256)
def student_quantile(p: float, degrees: float) -> float:
    """Return the quantile of Student's t for `p` of at least one half, by the beta distribution."""
    x = beta_quantile(2 * (1 - p), degrees / 2, 0.5)
    return sqrt(degrees * (1 - x) / x) if x > 0 else inf


def chance(hits: int, runs: int) -> Estimate:
    """Estimate a chance from `hits` in `runs`. Without hits the interval is one-sided.

    Of 1000 runs without a hit the upper bound is 0.0030: 1 - 0.05 ** (1 / 1000).
    """
    if not runs:
        return Estimate(nan, 0.0, 1.0)
    least, all_hit = hits == 0, hits == runs
    low = 0.0 if least else beta_quantile(2 * _TAIL if all_hit else _TAIL, hits, runs - hits + 1)
    high = (
        1.0
        if all_hit
        else beta_quantile(1 - (2 * _TAIL if least else _TAIL), hits + 1, runs - hits)
    )
    return Estimate(hits / runs, low, high)


def quantile(ordered: Sequence[float], q: float) -> float:
    """Return the smallest value that at least a share `q` of `ordered` does not exceed."""
    return ordered[max(ceil(q * len(ordered) - 1e-9), 1) - 1] if ordered else nan


def quantile_interval(ordered: Sequence[float], q: float) -> Estimate:
    """Estimate a quantile between two order statistics; infinite if there are too few values.

    The number of values at or below the true quantile is binomial with the chance `q`.
    """
    count = len(ordered)
    if not count:
        return Estimate(nan, -inf, inf)
    below, above = _ranks(count, q)
    low = ordered[below - 1] if below >= 1 else -inf
    high = ordered[above - 1] if above <= count else inf
    return Estimate(quantile(ordered, q), low, high)


@lru_cache(maxsize=1024)
def _ranks(count: int, q: float) -> tuple[int, int]:
    """Return the ranks of the order statistics around a quantile: from 0, none, to one too many."""
    below = _first(count, lambda k: _at_most(k, count, q) > _TAIL)
    return below, _first(count, lambda k: _at_most(k, count, q) >= 1 - _TAIL) + 1


def _at_most(k: int, count: int, q: float) -> float:
    """Return the chance that a binomial variable is at most `k`."""
    return 1.0 if k >= count else 1.0 - beta_cdf(q, k + 1, count - k)


def _first(count: int, holds: Callable[[int], bool]) -> int:
    """Return the first of 0..`count` at which a monotone condition holds."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def average(values: Collection[float]) -> float:
    """Return a mean without an interval."""
    return fsum(values) / len(values) if values else nan


def mean(values: Iterable[float]) -> Estimate:
    """Estimate a mean; its interval uses skewness and kurtosis, without bounds for one value.

    Student's quantile uses the degrees of freedom of the variance: 2 n / (kurtosis - 1) for n
    values (Satterthwaite 1946), which are n for normal ones, and few if few values are far out.
    Hall's transformation already accounts for part of the variance through skewness: half of it is
    subtracted from the kurtosis (without that, intervals of rare losses are too wide, with all of
    it, those of long tails too narrow: `python -m bench.coverage`).
    """
    numbers = list(values)
    count = len(numbers)
    if not count:
        return Estimate(nan, -inf, inf)
    middle = fsum(numbers) / count
    if count == 1:
        return Estimate(middle, -inf, inf)
    squares = [(value - middle) ** 2 for value in numbers]
    variance = fsum(squares) / (count - 1)
    if variance <= (1e-12 * middle) ** 2:
        return Estimate(middle, middle, middle)  # all the same: only rounding separates them
    cubes = [square * (value - middle) for square, value in zip(squares, numbers, strict=True)]
    skewness = fsum(cubes) / count / variance**1.5
    kurtosis = fsum([square * square for square in squares]) / count / variance**2
    spread = max(kurtosis - 1 - skewness**2 / 2, _SYMMETRIC)  # of the variance
    degrees = min(max(2 * count / spread, 1.0), count - 1)
    # Two digits are enough: few quantiles are computed that way.
    t = student_quantile((1 + _CONFIDENCE) / 2, float(f"{degrees:.2g}"))
    error = sqrt(variance / count)
    low, high = (_bent(sign * t, skewness, count) for sign in (1, -1))
    return Estimate(middle, middle - low * error, middle - high * error)


def _bent(t: float, skewness: float, count: int) -> float:
    """Return the standardized mean T whose Hall transformation is `t`.

    That is T + g T**2 / 3 + g**2 T**3 / 27 + g / 6, of g = skewness / sqrt(count).
    """
    g = skewness / sqrt(count)
    if abs(g) < _SYMMETRIC:
        return t
    return (3 / g) * (cbrt(1 + g * (t - g / 6)) - 1)


def carried(values: Sequence[float]) -> int:
    """Return how many of the values carry their variance: fewer, the more outliers matter.

    The number of values over their kurtosis: all for similar values, their number for rare events.
    """
    middle = average(values)
    squares = [(value - middle) ** 2 for value in values]
    fourth = fsum([square * square for square in squares])
    return round(fsum(squares) ** 2 / fourth) if fourth > 0 else len(values)


def difference(ours: Sequence[float], theirs: Sequence[float]) -> Estimate:
    """Estimate the mean of `ours` minus that of `theirs`, pair by pair, on the same draws.

    Pairs with an infinite value have no difference: what is never done has no cost until done.

    Raises:
        ValueError: their numbers differ.
    """
    pairs = zip(ours, theirs, strict=True)
    return mean([our - their for our, their in pairs if isfinite(our) and isfinite(their)])


def finite(values: Iterable[float]) -> list[float]:
    """Return the finite values: what is never done has no cost and no time."""
    return [value for value in values if isfinite(value)]


def finite_mean(values: Iterable[float]) -> shape.EstimateData | None:
    """Return the mean of the finite values as data; None if there are none."""
    return known(mean(finite(values)))


def known(estimate: Estimate) -> shape.EstimateData | None:
    """Return an estimate as data; None if it is not finite."""
    return as_data(estimate) if isfinite(estimate.value) else None


def as_data(estimate: Estimate) -> shape.EstimateData:
    """Return an estimate as data; null if there is no bound."""
    return {
        "value": estimate.value,
        "low": estimate.low if estimate.low > -inf else None,
        "high": estimate.high if isfinite(estimate.high) else None,
    }


def curve(values: Iterable[float]) -> list[shape.CurveData]:
    """Return the values that shares of them do not exceed, from 1 to 99 %; None is infinite."""
    ordered = sorted(values)
    shares = (0.01, *(at / 20 for at in range(1, 20)), 0.99)
    points = [(share, quantile(ordered, share)) for share in shares] if ordered else []
    return [{"share": share, "time_s": at if isfinite(at) else None} for share, at in points]


def histogram(ordered: Sequence[float]) -> list[shape.BarData]:
    """Count ascending values in equally wide ranges; empty without values.

    The last tenth, which may be far out, is in its own range.
    """
    if not ordered:
        return []
    least, highest = ordered[0], quantile(ordered, _SHOWN)
    bins = _BINS if highest > least else 1
    width = (highest - least) / bins
    counts = [0] * bins
    for value in ordered:
        if value <= highest:
            counts[min(int((value - least) / width), bins - 1) if width else 0] += 1
    bars: list[shape.BarData] = [
        {"from_s": least + at * width, "to_s": least + (at + 1) * width, "runs": count}
        for at, count in enumerate(counts)
    ]
    outliers = len(ordered) - sum(counts)
    return [*bars, {"from_s": highest, "to_s": ordered[-1], "runs": outliers}] if outliers else bars
