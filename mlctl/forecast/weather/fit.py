"""Weather fitted to metrics of a cluster: maximum likelihood, and whether losses come together.

In an interval of `h` hours that begins with n nodes, each is lost with probability
p = 1 - exp(-rate h). With probability q = 1 - exp(-shocks h) there is a shock, and each is lost
with probability r = 1 - (1 - p)(1 - fraction). So the number of losses is a mixture of two binomial
distributions. Intervals are short, so that two shocks do not fall into one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from itertools import pairwise
from math import exp, log, log1p
from typing import Any

from mlctl.dataclasses import dataclass
from mlctl.forecast.statistics import Estimate
from mlctl.forecast.weather.models import Shocks, Weather
from mlctl.simulator.engine.model import HOUR

_SIGNIFICANT = 0.001  # the chance to find shocks where there are none, at most
_DROP = 1.9207  # half the 95 % quantile of chi-squared with one degree of freedom
_LONGEST_S = 300.0
_STEPS, _CLOSE = 500, 1e-10
_SMALLEST = 1e-12


class FitError(ValueError):
    """Metrics that weather cannot be fitted to; the text is for people."""


@dataclass(frozen=True, slots=True)
class LossCounts:
    """How often n nodes were there and k of them were lost, in intervals of `hours`."""

    hours: float
    counts: Mapping[tuple[int, int], int]

    @property
    def node_hours(self) -> float:
        """The time that nodes were there."""
        return self.hours * sum(nodes * times for (nodes, _), times in self.counts.items())

    @property
    def lost(self) -> int:
        """The number of nodes that were lost."""
        return sum(lost_nodes * times for (_, lost_nodes), times in self.counts.items())


@dataclass(frozen=True, slots=True)
class Fit:
    """What was fitted, with intervals by the profile of the likelihood.

    `shocks` per hour and `fraction` are None where losses come one by one. `gain` is by how much
    the logarithm of the likelihood is larger with shocks than without.
    """

    rate: Estimate
    shocks: Estimate | None
    fraction: Estimate | None
    gain: float
    losses: LossCounts

    @property
    def chance(self) -> float:
        """How likely such a gain is without shocks: chi-squared with two degrees of freedom."""
        return exp(-max(self.gain, 0.0))

    def weather(self, name: str, source: str) -> Weather:
        """The weather of the estimates, to be written and read as a file."""
        shocks = None
        if self.shocks is not None and self.fraction is not None:
            shocks = Shocks(self.shocks.value, self.fraction.value)
        return Weather(name, self.rate.value, shocks, source=source)


@dataclass(frozen=True, slots=True)
class _Mixture:
    p: float
    q: float
    r: float


def fit(losses: LossCounts) -> Fit:
    """The most likely weather.

    Raises:
        FitError: there were no nodes.
    """
    if not losses.node_hours:
        raise FitError("no node was there at any time: nothing can be said of losses")
    alone = _Mixture(min(losses.lost / (losses.node_hours / losses.hours), 1.0), 0.0, 0.0)
    starts = [_Mixture(alone.p / 2, 0.001, share) for share in (0.2, 0.5, 0.9)]
    mixture = max(
        (_climb(losses, start) for start in starts), key=lambda start: _likelihood(losses, start)
    )
    gain = _likelihood(losses, mixture) - _likelihood(losses, alone)
    together = exp(-max(gain, 0.0)) < _SIGNIFICANT
    best = mixture if together else alone
    per_hour = _per_hour(losses.hours)
    rate = _profile(losses, best, "p", per_hour)
    if not together:
        return Fit(rate, None, None, max(gain, 0.0), losses)
    shocks = _profile(losses, best, "q", per_hour)
    fraction = _profile(losses, best, "r", lambda r: max((r - best.p) / (1 - best.p), 0.0))
    return Fit(rate, shocks, fraction, gain, losses)


def _per_hour(hours: float) -> Callable[[float], float]:
    return lambda chance: -log1p(-min(chance, 1 - _SMALLEST)) / hours


def _likelihood(losses: LossCounts, at: _Mixture) -> float:
    """Its logarithm, without the binomial coefficients, which do not depend on the parameters."""
    total = 0.0
    for (n, k), times in losses.counts.items():
        likelihood = (1 - at.q) * at.p**k * (1 - at.p) ** (n - k) + at.q * at.r**k * (1 - at.r) ** (
            n - k
        )
        total += times * log(max(likelihood, 1e-300))
    return total


def _climb(losses: LossCounts, at: _Mixture, fixed: str = "") -> _Mixture:
    """Expectation and maximization, until nothing changes; the parameter `fixed` stays."""
    previous = _likelihood(losses, at)
    for _ in range(_STEPS):
        hit = hit_nodes = hit_lost = all_nodes = all_lost = 0.0
        times_of_all = 0
        for (n, k), times in losses.counts.items():
            calm = (1 - at.q) * at.p**k * (1 - at.p) ** (n - k)
            shock = at.q * at.r**k * (1 - at.r) ** (n - k)
            share = times * shock / max(calm + shock, 1e-300)
            hit, hit_nodes, hit_lost = hit + share, hit_nodes + share * n, hit_lost + share * k
            all_nodes, all_lost = all_nodes + times * n, all_lost + times * k
            times_of_all += times
        at = _Mixture(
            at.p if fixed == "p" else _share(all_lost - hit_lost, all_nodes - hit_nodes),
            at.q if fixed == "q" else _share(hit, times_of_all),
            at.r if fixed == "r" else _share(hit_lost, hit_nodes),
        )
        now = _likelihood(losses, at)
        if now - previous < _CLOSE * max(abs(now), 1.0):
            break
        previous = now
    return at


def _share(part: float, whole: float) -> float:
    return min(max(part / whole, 0.0), 1.0) if whole > 0 else 0.0


def _profile(
    losses: LossCounts, best: _Mixture, name: str, scale: Callable[[float], float]
) -> Estimate:
    """The values at which the likelihood, at its best in all others, is lower by `_DROP`."""
    top, value = _likelihood(losses, best), float(getattr(best, name))

    def is_likely(number: float) -> bool:
        parts = {"p": best.p, "q": best.q, "r": best.r, name: number}
        return _likelihood(losses, _climb(losses, _Mixture(**parts), name)) >= top - _DROP

    low = _edge(is_likely, value, 0.0)
    high = _edge(is_likely, value, 1.0)
    return Estimate(scale(value), scale(low), scale(high))


def _edge(is_likely: Callable[[float], bool], inside: float, bound: float) -> float:
    """Where the likely values end between the best one and a bound of the parameter."""
    if is_likely(bound):
        return bound
    near = max(inside, 1e-9)
    step = near if bound > inside else -near
    outside = inside + step
    while 0 < outside < 1 and is_likely(outside):
        inside, step = outside, 2 * step
        outside = inside + step
    outside = min(max(outside, 0.0), 1.0)
    while abs(outside - inside) > 1e-4 * near:
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if is_likely(middle) else (inside, middle)
    return inside


def read(text: str, *, cores_per_node: int | None = None) -> LossCounts:
    """The losses of a cluster from `mlctl compute metrics -o json` or a body of Azure Monitor.

    With `cores_per_node` the metrics are those of cores.

    Raises:
        FitError: the text has neither shape, has gaps, or not both metrics.
    """
    unit = "Nodes" if cores_per_node is None else "Cores"
    series = _series(text)
    missing = [name for name in (f"Preempted {unit}", f"Total {unit}") if name not in series]
    if missing:
        names = ", ".join(f"`{name}`" for name in series) or "nothing"
        raise FitError(f"there is no metric `{missing[0]}`, but {names}")
    preempted, total = series[f"Preempted {unit}"], series[f"Total {unit}"]
    if [at for at, _ in preempted] != [at for at, _ in total]:
        raise FitError("the two metrics are not of the same intervals")
    return LossCounts(_hours(preempted), _counts(preempted, total, cores_per_node or 1))


_Series = list[tuple[str, Mapping[str, Any]]]
_SHAPE = "it has neither the shape of `mlctl compute metrics -o json` nor that of Azure Monitor"


def _series(text: str) -> dict[str, _Series]:
    """The points of each metric by name; `total` of Preempted Nodes are losses where it is ours."""
    try:
        match json.loads(text):
            case list() as ours:
                return {
                    str(metric["metric"]): [
                        (str(point["time_stamp"]), point) for point in metric["data"]
                    ]
                    for metric in ours
                }
            case {"value": [*metrics]}:
                return {
                    str(metric["name"]["value"]): [
                        (str(point["timeStamp"]), _gauge(point))
                        for part in metric["timeseries"]
                        for point in part["data"]
                    ]
                    for metric in metrics
                }
            case _:
                pass
    except (ValueError, RecursionError, KeyError, TypeError):
        pass
    raise FitError(_SHAPE)


def _gauge(point: Mapping[str, Any]) -> Mapping[str, Any]:
    """A point of Azure Monitor, which samples how many nodes are preempted, not how many fall."""
    values = [point[name] for name in ("maximum", "average", "minimum") if name in point]
    if not values:
        raise KeyError("maximum")
    return {"maximum": values[0], "minimum": values[-1], "average": values[0]}


def _hours(points: _Series) -> float:
    """The length of the intervals, which follow each other without a gap."""
    try:
        moments = [datetime.fromisoformat(at) for at, _ in points]
    except ValueError:
        raise FitError("a time stamp is no moment, as 2026-06-18T08:30:00Z") from None
    if len(moments) < 2:  # noqa: PLR2004  # an interval needs two ends
        raise FitError("there must be two intervals or more")
    seconds = (moments[1] - moments[0]).total_seconds()
    for earlier, later in pairwise(moments):
        if (later - earlier).total_seconds() != seconds:
            raise FitError(f"there is a gap after {earlier.isoformat()}")
    if not 0 < seconds <= _LONGEST_S:
        raise FitError(f"intervals of {seconds:g} s are no minutes: ask for metrics by the minute")
    return seconds / HOUR


def _counts(preempted: _Series, total: _Series, cores: int) -> Counter[tuple[int, int]]:
    counts: Counter[tuple[int, int]] = Counter()
    previous = 0.0
    try:
        for (_, lost), (_, nodes) in zip(preempted, total, strict=True):
            fell = lost["total"] if "total" in lost else max(lost["maximum"] - previous, 0)
            previous = lost["maximum"]
            if lost["maximum"] >= nodes["maximum"] + cores:
                raise FitError(
                    "more nodes were preempted than there were: the two metrics are of two clusters"
                )
            lost_nodes = round(fell / cores)
            up = round((nodes["maximum"] - lost["minimum"]) / cores)
            counts[max(up, lost_nodes), lost_nodes] += 1
    except (KeyError, TypeError):
        raise FitError(_SHAPE) from None
    return counts
