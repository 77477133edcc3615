"""Fit weather to a cluster's metrics, or to a trace of the number of nodes.

By maximum likelihood: how often nodes are lost, whether losses come together, and outages.

In an interval of `h` hours that begins with n nodes, each is lost with probability p = 1 -
exp(-rate h). With probability q = 1 - exp(-shocks h) there is a shock, and each is lost with
probability r = 1 - (1 - p)(1 - fraction). So the number of losses is a mixture of two binomial
distributions. Intervals are short, so that two shocks do not fall into one.

An outage is a time without any node. Outages begin at a rate while there are nodes, and last an
exponential time, or a log-normal one if that is clearly likelier. In metrics a loss of all nodes
looks like one until they are replaced, so only longer ones count, and of these the remaining time:
for an exponential time it has the same law. How many were shorter follows. In a trace the threshold
is half a gap, since every other of the shorter ones falls between two points.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby, pairwise
from math import exp, expm1, log, log1p, pi, sqrt
from typing import Any

from mlctl.dataclasses import dataclass, replace
from mlctl.forecast.statistics import Estimate
from mlctl.forecast.weather.models import Outages, Shocks, Weather
from mlctl.simulator.engine import traces
from mlctl.simulator.engine.commands import EngineError
from mlctl.simulator.engine.model import HOUR

_SIGNIFICANT = 0.001  # the chance to find shocks if there are none, at most
_DROP = 1.9207  # half the 95 % quantile of chi-squared with one degree of freedom
_LONGEST_S = 300.0
_STEPS, _CLOSE = 500, 1e-10
_SMALLEST = 1e-12
_REPLACED_S = 900.0  # by then lost nodes have been replaced, if any are available
_MOST_H = 24 * 90.0
_FEW = 5  # outages with which less is known of their spread
_Z = 1.96  # of 95 %


class FitError(ValueError):
    """Metrics that weather cannot be fitted to; the message is for people."""


@dataclass(frozen=True, slots=True)
class LossCounts:
    """How often there were n nodes and k of them were lost, in intervals of `hours`.

    `spells` are the hours with nodes and without any in turn, starting with nodes; times without
    any only if longer than `least_h`. Nodes that an outage took do not count as lost. `halves` are
    the same for the first and second half of the time.
    """

    hours: float
    counts: Mapping[tuple[int, int], int]
    spells: Sequence[float] = ()
    least_h: float = 0.0
    halves: tuple[LossCounts, ...] = ()

    @property
    def node_hours(self) -> float:
        """The hours of nodes."""
        return self.hours * sum(nodes * times for (nodes, _), times in self.counts.items())

    @property
    def lost(self) -> int:
        """The number of nodes that were lost."""
        return sum(lost_nodes * times for (_, lost_nodes), times in self.counts.items())


@dataclass(frozen=True, slots=True)
class Fit:
    """The fitted values, with profile-likelihood intervals.

    `shocks` per hour and `fraction` are None if losses come one by one. `gain` is how much the
    log-likelihood is larger with shocks. `outages` per hour with nodes last `outage_h` hours,
    log-normal with the coefficient of variation `outage_cv` unless None; all are None if there were
    none. `unlike`: how the halves of the time differ.
    """

    rate: Estimate
    shocks: Estimate | None
    fraction: Estimate | None
    gain: float
    losses: LossCounts
    outages: Estimate | None = None
    outage_h: Estimate | None = None
    outage_cv: float | None = None
    unlike: tuple[str, ...] = ()

    @property
    def chance(self) -> float:
        """The chance of such a gain without shocks: chi-squared with two degrees of freedom."""
        return exp(-max(self.gain, 0.0))

    def weather(self, name: str, source: str) -> Weather:
        """Return the estimated weather, to be written to a file."""
        shocks = None
        if self.shocks is not None and self.fraction is not None:
            shocks = Shocks(self.shocks.value, self.fraction.value)
        outages = None
        if self.outages is not None and self.outage_h is not None:
            outages = Outages(self.outages.value, self.outage_h.value, self.outage_cv)
        return Weather(name, self.rate.value, shocks, outages, source=source)


@dataclass(frozen=True, slots=True)
class _Mixture:
    p: float
    q: float
    r: float

    def parts(self, n: int, k: int) -> tuple[float, float]:
        """Return how likely k of n nodes are lost without and with a shock, up to a factor."""
        calm = (1 - self.q) * self.p**k * (1 - self.p) ** (n - k)
        return calm, self.q * self.r**k * (1 - self.r) ** (n - k)


def fit(losses: LossCounts) -> Fit:
    """Return the most likely weather.

    Raises:
        FitError: there were no nodes.
    """
    if not losses.node_hours:
        raise FitError("there were never any nodes: losses cannot be estimated")
    alone = _Mixture(min(losses.lost / (losses.node_hours / losses.hours), 1.0), 0.0, 0.0)
    starts = [_Mixture(alone.p / 2, 0.001, share) for share in (0.2, 0.5, 0.9)]
    mixture = max(
        (_climb(losses, start) for start in starts), key=lambda start: _likelihood(losses, start)
    )
    gain = _likelihood(losses, mixture) - _likelihood(losses, alone)
    together = exp(-max(gain, 0.0)) < _SIGNIFICANT
    best = mixture if together else alone

    def per_hour(chance: float) -> float:
        return -log1p(-min(chance, 1 - _SMALLEST)) / losses.hours

    shocks = fraction = None
    if together:
        shocks = _profile(losses, best, "q", per_hour)
        fraction = _profile(losses, best, "r", lambda r: max((r - best.p) / (1 - best.p), 0.0))
    rate = _profile(losses, best, "p", per_hour)
    unlike = tuple(_unlike(*losses.halves)) if losses.halves else ()
    return Fit(rate, shocks, fraction, max(gain, 0.0), losses, *_outages(losses), unlike)


def _outages(losses: LossCounts) -> tuple[Estimate | None, Estimate | None, float | None]:
    """Estimate how often outages come, how long they last, and their spread, if there are any."""
    out = losses.spells[1::2]
    if not out:
        return None, None, None
    ended = len(losses.spells) // 2 - (len(losses.spells) % 2 == 0)  # the last may continue
    rate, ends = _events(len(out), sum(losses.spells[::2])), _events(ended, _left_h(losses))
    length = Estimate(
        1 / max(ends.value, 1 / _MOST_H), 1 / ends.high, 1 / max(ends.low, 1 / _MOST_H)
    )
    cv = None
    if losses.least_h < losses.hours and ended >= _FEW:
        length, cv = _log_normal(out[:ended], losses.hours, length)
    unseen = exp(min(losses.least_h / length.value, 1.0))  # what is hardly seen is not invented
    return Estimate(*(unseen * at for at in (rate.value, rate.low, rate.high))), length, cv


def _left_h(losses: LossCounts) -> float:
    """Return the hours of outages beyond the minimum that each has."""
    return sum(spell - losses.least_h for spell in losses.spells[1::2])


def _log_normal(
    hours: Sequence[float], gap_h: float, length: Estimate
) -> tuple[Estimate, float | None]:
    """Estimate mean and coefficient of variation of log-normal outages, if they are likelier.

    A trace has no outage below its gap, so for exponential ones the excess counts.
    """
    count, logs = len(hours), [log(spell) for spell in hours]
    middle = sum(logs) / count
    variance = sum((at - middle) ** 2 for at in logs) / count
    mean = sum(hours) / count
    exponential = -count * (log(max(mean - gap_h, _SMALLEST)) + 1)
    log_normal = -count / 2 * (log(2 * pi * max(variance, _SMALLEST)) + 1) - sum(logs)
    if log_normal - exponential < _DROP:
        return length, None
    error = _Z * sqrt(variance / count + variance**2 / (2 * count))  # Cox's interval of the mean
    value = exp(middle + variance / 2)
    return Estimate(value, value / exp(error), value * exp(error)), sqrt(expm1(variance))


def _events(count: int, hours: float) -> Estimate:
    """Estimate the rate of Poisson events; Byar's interval (Breslow and Day 1987, 69)."""
    above, hours = count + 1, max(hours, _SMALLEST)
    low = count * (1 - 1 / (9 * count) - _Z / (3 * sqrt(count))) ** 3 if count else 0.0
    high = above * (1 - 1 / (9 * above) + _Z / (3 * sqrt(above))) ** 3
    return Estimate(count / hours, max(low, 0.0) / hours, high / hours)


def _unlike(first: LossCounts, second: LossCounts) -> Iterator[str]:
    """Yield how two halves differ, beyond what happens once in a thousand times."""
    lossy = [sum(t for (_, k), t in half.counts.items() if k) for half in (first, second)]
    out = [len(half.spells[1::2]) for half in (first, second)]
    up_h = [
        half.hours * sum(t for (n, _), t in half.counts.items() if n) for half in (first, second)
    ]
    for name, counts in (("losses", lossy), ("outages", out)):
        if _differ(counts, up_h):
            rates = (
                f"{count / max(hours, _SMALLEST):.2g}"
                for count, hours in zip(counts, up_h, strict=True)
            )
            yield f"{name} come {' and '.join(rates)} times an hour"
    hours = [_left_h(half) for half in (first, second)]
    logs = [[log(max(spell, _SMALLEST)) for spell in half.spells[1::2]] for half in (first, second)]
    if min(out) >= _FEW:
        means = [sum(half) / len(half) for half in logs]
        errors = [
            sum((at - mean) ** 2 for at in half) / len(half) / (len(half) - 1)
            for half, mean in zip(logs, means, strict=True)
        ]
        if (means[0] - means[1]) ** 2 > 2 * -log(_SIGNIFICANT) * max(sum(errors), _SMALLEST):
            each = (f"{total / count:.2g}" for total, count in zip(hours, out, strict=True))
            yield f"outages last {' and '.join(each)} hours"


def _differ(counts: Sequence[int], hours: Sequence[float]) -> bool:
    """Whether events of two periods have different rates, by the likelihood ratio."""
    gain = sum(
        count * log(count * sum(hours) / (time * sum(counts)))
        for count, time in zip(counts, hours, strict=True)
        if count
    )
    return gain > -log(_SIGNIFICANT)


def _likelihood(losses: LossCounts, at: _Mixture) -> float:
    """Return the log-likelihood, without constant binomial coefficients."""
    total = 0.0
    for (n, k), times in losses.counts.items():
        total += times * log(max(sum(at.parts(n, k)), 1e-300))
    return total


def _climb(losses: LossCounts, at: _Mixture, fixed: str = "") -> _Mixture:
    """Maximize by expectation and maximization; the parameter `fixed` stays."""
    previous = _likelihood(losses, at)
    for _ in range(_STEPS):
        hit = hit_nodes = hit_lost = all_nodes = all_lost = 0.0
        times_of_all = 0
        for (n, k), times in losses.counts.items():
            calm, shock = at.parts(n, k)
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
    """Find where the profile likelihood is lower by `_DROP`."""
    top, value = _likelihood(losses, best), float(getattr(best, name))

    def is_likely(number: float) -> bool:
        parts = {"p": best.p, "q": best.q, "r": best.r, name: number}
        return _likelihood(losses, _climb(losses, _Mixture(**parts), name)) >= top - _DROP

    low = _edge(is_likely, value, 0.0)
    high = _edge(is_likely, value, 1.0)
    return Estimate(scale(value), scale(low), scale(high))


def _edge(is_likely: Callable[[float], bool], inside: float, bound: float) -> float:
    """Find the end of the likely values between the best one and a bound of the parameter."""
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
    """Read a cluster's losses from `mlctl compute metrics -o json` or a body of Azure Monitor.

    Or from a trace. With `cores_per_node`, the metrics are those of cores.

    Raises:
        FitError: the text has neither shape, has gaps, or lacks a metric.
    """
    try:
        trace = traces.trace(text)
    except EngineError:
        pass
    else:
        steps = [(n, max(n - later, 0), n == 0) for n, later in pairwise(trace.nodes)]
        return _losses(_short(trace.gap_s), steps, trace.gap_s / 2)
    unit = "Nodes" if cores_per_node is None else "Cores"
    series = _series(text)
    missing = [name for name in (f"Preempted {unit}", f"Total {unit}") if name not in series]
    if missing:
        names = ", ".join(f"`{name}`" for name in series) or "nothing"
        raise FitError(f"there is no metric `{missing[0]}`, but {names}")
    preempted, total = series[f"Preempted {unit}"], series[f"Total {unit}"]
    if [at for at, _ in preempted] != [at for at, _ in total]:
        raise FitError("the two metrics are not of the same intervals")
    return _losses(_hours(preempted), _steps(preempted, total, cores_per_node or 1), _REPLACED_S)


# For an interval: the number of nodes, how many were lost, whether there was no node.
_Steps = Sequence[tuple[int, int, bool]]


def _losses(hours: float, steps: _Steps, least_s: float) -> LossCounts:
    """Summarize the intervals, and each half of them."""
    middle = len(steps) // 2
    halves = (_half(hours, part, least_s) for part in (steps[:middle], steps[middle:]))
    return replace(_half(hours, steps, least_s), halves=tuple(halves))


def _half(hours: float, steps: _Steps, least_s: float) -> LossCounts:
    counts: Counter[tuple[int, int]] = Counter()
    spells, at = [0.0], 0
    for out, group in groupby(steps, lambda step: step[2]):
        part = list(group)
        end = at + len(part)
        if out and len(part) * hours * HOUR > least_s and at:
            spells += [len(part) * hours, 0.0]
            nodes, lost, _ = steps[at - 1]
            counts[nodes, lost] -= 1  # that was the outage
            counts[nodes, 0] += 1
        elif at or not out:  # an outage at the beginning has an unknown length
            spells[-1] += len(part) * hours
        counts.update((nodes, lost) for nodes, lost, _ in part)
        at = end
    if len(spells) > 1 and not spells[-1]:
        spells.pop()
    return LossCounts(hours, +counts, tuple(spells), least_s / HOUR)


_Series = list[tuple[str, Mapping[str, Any]]]
_SHAPE = "it has neither the shape of `mlctl compute metrics -o json` nor that of Azure Monitor"


def _series(text: str) -> dict[str, _Series]:
    """Return the points of each metric by name; our `total` of Preempted Nodes are losses."""
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
    """Convert a point of Azure Monitor, which samples preempted nodes, not losses."""
    values = [point[name] for name in ("maximum", "average", "minimum") if name in point]
    if not values:
        raise KeyError("maximum")
    return {"maximum": values[0], "minimum": values[-1], "average": values[0]}


def _hours(points: _Series) -> float:
    """Return the length of the intervals, which must be contiguous."""
    try:
        moments = [datetime.fromisoformat(at) for at, _ in points]
    except ValueError:
        raise FitError("a time stamp is invalid: write it as 2026-06-18T08:30:00Z") from None
    if len(moments) < 2:  # noqa: PLR2004  # an interval needs two ends
        raise FitError("there must be at least two intervals")
    seconds = (moments[1] - moments[0]).total_seconds()
    for earlier, later in pairwise(moments):
        if (later - earlier).total_seconds() != seconds:
            raise FitError(f"there is a gap after {earlier.isoformat()}")
    return _short(seconds)


def _short(seconds: float) -> float:
    """Return the hours of an interval that is short enough."""
    if not 0 < seconds <= _LONGEST_S:
        raise FitError(f"intervals of {seconds:g} s are too long: query metrics by the minute")
    return seconds / HOUR


def _steps(preempted: _Series, total: _Series, cores: int) -> _Steps:
    steps: list[tuple[int, int, bool]] = []
    previous = 0.0
    try:
        for (_, lost), (_, nodes) in zip(preempted, total, strict=True):
            fell = lost["total"] if "total" in lost else max(lost["maximum"] - previous, 0)
            previous = lost["maximum"]
            if lost["maximum"] >= nodes["maximum"] + cores:
                raise FitError(
                    "more nodes were preempted than existed: the metrics are of different clusters"
                )
            lost_nodes = round(fell / cores)
            up = round((nodes["maximum"] - lost["minimum"]) / cores)
            steps.append((max(up, lost_nodes), lost_nodes, up <= 0 < nodes["maximum"]))
    except (KeyError, TypeError):
        raise FitError(_SHAPE) from None
    return steps
