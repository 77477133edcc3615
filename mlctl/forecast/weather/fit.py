"""Weather fitted to metrics of a cluster, or to a trace of how many nodes there were.

By maximum likelihood: how often nodes are lost, whether losses come together, and outages.

In an interval of `h` hours that begins with n nodes, each is lost with probability
p = 1 - exp(-rate h). With probability q = 1 - exp(-shocks h) there is a shock, and each is lost
with probability r = 1 - (1 - p)(1 - fraction). So the number of losses is a mixture of two binomial
distributions. Intervals are short, so that two shocks do not fall into one.

An outage is a time without any node. They come at a rate while nodes are there, and last an
exponential time, or a log-normal one where that is clearly likelier. In metrics a loss of all nodes
until their replacements are there looks like one, so only what lasts longer counts, and what is
left of it then: of an exponential time that has the same law. How many were shorter follows. In a
trace that is half a gap, for of the shorter ones every other falls between two points.
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

_SIGNIFICANT = 0.001  # the chance to find shocks where there are none, at most
_DROP = 1.9207  # half the 95 % quantile of chi-squared with one degree of freedom
_LONGEST_S = 300.0
_STEPS, _CLOSE = 500, 1e-10
_SMALLEST = 1e-12
_REPLACED_S = 900.0  # by then nodes that were lost have been replaced, where there are any
_MOST_H = 24 * 90.0
_FEW = 5  # outages, of whose spread less is known
_Z = 1.96  # of 95 %


class FitError(ValueError):
    """Metrics that weather cannot be fitted to; the text is for people."""


@dataclass(frozen=True, slots=True)
class LossCounts:
    """How often n nodes were there and k of them were lost, in intervals of `hours`.

    `spells` are the hours with nodes and without any by turns, with nodes first; of times without
    any those of more than `least_h`. The nodes that an outage took are not among the lost ones.
    `halves` are the same of the first and the second half of the time.
    """

    hours: float
    counts: Mapping[tuple[int, int], int]
    spells: Sequence[float] = ()
    least_h: float = 0.0
    halves: tuple[LossCounts, ...] = ()

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
    the logarithm of the likelihood is larger with shocks than without. `outages` an hour with nodes
    last `outage_h` hours, log-normal of the coefficient of variation `outage_cv` where it is not
    None; all are None where there were none. `unlike`: in what the halves of the time differ.
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
        """How likely such a gain is without shocks: chi-squared with two degrees of freedom."""
        return exp(-max(self.gain, 0.0))

    def weather(self, name: str, source: str) -> Weather:
        """The weather of the estimates, to be written and read as a file."""
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
    shocks = fraction = None
    if together:
        shocks = _profile(losses, best, "q", per_hour)
        fraction = _profile(losses, best, "r", lambda r: max((r - best.p) / (1 - best.p), 0.0))
    rate = _profile(losses, best, "p", per_hour)
    unlike = tuple(_unlike(*losses.halves)) if losses.halves else ()
    return Fit(rate, shocks, fraction, max(gain, 0.0), losses, *_outages(losses), unlike)


def _outages(losses: LossCounts) -> tuple[Estimate | None, Estimate | None, float | None]:
    """How often outages come, how long they last, and their coefficient of variation, if it is."""
    out = losses.spells[1::2]
    if not out:
        return None, None, None
    ended = len(losses.spells) // 2 - (len(losses.spells) % 2 == 0)  # the last may go on
    rate, ends = _events(len(out), sum(losses.spells[::2])), _events(ended, _left_h(losses))
    length = Estimate(
        1 / max(ends.value, 1 / _MOST_H), 1 / ends.high, 1 / max(ends.low, 1 / _MOST_H)
    )
    cv = None
    if losses.least_h < losses.hours and ended >= _FEW:
        length, cv = _log_normal(out[:ended], losses.hours, length)
    unseen = exp(min(losses.least_h / length.value, 1.0))  # what is hardly seen is not made up
    return Estimate(*(unseen * at for at in (rate.value, rate.low, rate.high))), length, cv


def _left_h(losses: LossCounts) -> float:
    """The hours of outages after those that each has at least."""
    return sum(spell - losses.least_h for spell in losses.spells[1::2])


def _log_normal(
    hours: Sequence[float], gap_h: float, length: Estimate
) -> tuple[Estimate, float | None]:
    """The mean and coefficient of variation of log-normal outages, where they are likelier so.

    A trace has no outage below its gap, so of exponential ones the excess counts.
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
    """The rate of Poisson events that came so often; Byar's interval (Breslow and Day 1987, 69)."""
    above, hours = count + 1, max(hours, _SMALLEST)
    low = count * (1 - 1 / (9 * count) - _Z / (3 * sqrt(count))) ** 3 if count else 0.0
    high = above * (1 - 1 / (9 * above) + _Z / (3 * sqrt(above))) ** 3
    return Estimate(count / hours, max(low, 0.0) / hours, high / hours)


def _unlike(first: LossCounts, second: LossCounts) -> Iterator[str]:
    """In what two halves differ, beyond what happens once in a thousand times."""
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
    """Whether events of two times are of two rates, by the ratio of the likelihoods."""
    gain = sum(
        count * log(count * sum(hours) / (time * sum(counts)))
        for count, time in zip(counts, hours, strict=True)
        if count
    )
    return gain > -log(_SIGNIFICANT)


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

    Or those of a trace. With `cores_per_node` the metrics are those of cores.

    Raises:
        FitError: the text has neither shape, has gaps, or not both metrics.
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


# Of an interval: how many nodes there were, how many of them were lost, whether there was no node.
_Steps = Sequence[tuple[int, int, bool]]


def _losses(hours: float, steps: _Steps, least_s: float) -> LossCounts:
    """What the intervals come to, and each half of them."""
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
        elif at or not out:  # an outage that goes on at the beginning says nothing of its length
            spells[-1] += len(part) * hours
        counts.update((nodes, lost) for nodes, lost, _ in part)
        at = end
    if len(spells) > 1 and not spells[-1]:
        spells.pop()
    return LossCounts(hours, +counts, tuple(spells), least_s / HOUR)


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
    return _short(seconds)


def _short(seconds: float) -> float:
    """The hours of an interval that is short enough."""
    if not 0 < seconds <= _LONGEST_S:
        raise FitError(f"intervals of {seconds:g} s are no minutes: ask for metrics by the minute")
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
                    "more nodes were preempted than there were: the two metrics are of two clusters"
                )
            lost_nodes = round(fell / cores)
            up = round((nodes["maximum"] - lost["minimum"]) / cores)
            steps.append((max(up, lost_nodes), lost_nodes, up <= 0 < nodes["maximum"]))
    except (KeyError, TypeError):
        raise FitError(_SHAPE) from None
    return steps
