"""Stochastic and scripted processes: what preempts nodes, and how many nodes a region has.

Rates are per hour, other times in seconds unless stated. Several processes act independently. They
are pure: random numbers are arguments.
"""

from __future__ import annotations

from math import exp, expm1, gamma, log, log1p, sqrt

from mlctl.dataclasses import dataclass
from mlctl.simulator.engine.model import HOUR

ALL = "all"
DAY = 24 * HOUR


@dataclass(frozen=True, slots=True)
class ByHour:
    """How often things happen by the hour of the day: a factor of the rate for each of 24 hours.

    `start_s` is the time of day at which the process was set, in seconds since midnight.
    """

    factors: tuple[float, ...]
    start_s: float = 0.0

    def after(self, at: float, seconds: float) -> float:
        """Return when `seconds` of factor 1 have passed since the second `at`; both from the start.

        This is the inverse of the integral of the factors, so that a Poisson process in the
        seconds of factor 1 becomes one whose rate follows the factors.
        """
        days, seconds_left = divmod(seconds, sum(self.factors) * HOUR)
        now = self.start_s + at
        hour, into = divmod(now, HOUR)
        while True:
            factor = self.factors[int(hour) % 24]
            room = (HOUR - into) * factor
            if seconds_left < room:
                return at + days * DAY + (hour * HOUR + into - now) + seconds_left / factor
            seconds_left, hour, into = seconds_left - room, hour + 1, 0.0


@dataclass(frozen=True, slots=True)
class Poisson:
    """Each node is lost at `rate`, independent of its age."""

    rate: float
    by_hour: ByHour | None = None


@dataclass(frozen=True, slots=True)
class HyperExponential:
    """Node lifetimes of mean 1/`rate` and coefficient of variation `cv` >= 1 (balanced means)."""

    rate: float
    cv: float


@dataclass(frozen=True, slots=True)
class Weibull:
    """Node lifetimes of mean 1/`rate`; with `shape` below 1 the hazard falls with age."""

    rate: float
    shape: float


@dataclass(frozen=True, slots=True)
class Bathtub:
    """F(t) = a (1 - exp(-t/t1) + exp((t - b)/t2)) in hours; no node lives longer than `most` hours.

    Kadupitiya et al., HPDC '20 (arXiv 1911.05160). GCP has such a maximum, Azure has none.
    """

    a: float
    t1: float
    t2: float
    b: float
    most: float = 24.0


@dataclass(frozen=True, slots=True)
class Shock:
    """Shocks come at `rate`; each takes every node that is up with probability `fraction`."""

    rate: float
    fraction: float = 1.0
    by_hour: ByHour | None = None


@dataclass(frozen=True, slots=True)
class LossScript:
    """Losses as (second, node): the node of this number in every cluster, or all."""

    losses: tuple[tuple[float, int | str], ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """The number of nodes per interval of `gap_s`, from index `offset` on, repeated endlessly."""

    gap_s: float
    nodes: tuple[int, ...]
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant number of nodes."""

    nodes: int


@dataclass(frozen=True, slots=True)
class CapacitySteps:
    """Limits as (second, nodes from then on); there is no limit before the first step."""

    steps: tuple[tuple[float, int], ...]


@dataclass(frozen=True, slots=True)
class OnOff:
    """`nodes` (None: no limit), and 0 in outages of mean `mean_outage_s`, which come at `rate`.

    Outages are exponential, or log-normal of the coefficient of variation `cv`. One of which
    `out_s` are left goes on when the process is set.
    """

    rate: float
    mean_outage_s: float
    nodes: int | None = None
    cv: float | None = None
    by_hour: ByHour | None = None
    out_s: float = 0.0


LifetimeProcess = Poisson | HyperExponential | Weibull | Bathtub
LIFETIMES = (Poisson, HyperExponential, Weibull, Bathtub)
PreemptionProcess = LifetimeProcess | Shock | LossScript | Trace | OnOff
CapacityProcess = Constant | CapacitySteps | Trace | OnOff


def lifetime(process: LifetimeProcess, u: float) -> float:
    """A node's lifetime in seconds: the inverse of the distribution at `u` in [0, 1)."""
    if isinstance(process, Poisson):  # nearly all are
        return exponential(process.rate, u)
    match process:
        case HyperExponential(rate, cv):
            first = (1 + sqrt((cv * cv - 1) / (cv * cv + 1))) / 2
            if u < first:
                return exponential(2 * first * rate, u / first)
            return exponential(2 * (1 - first) * rate, (u - first) / (1 - first))
        case Weibull(rate, shape):
            return float((-log1p(-u)) ** (1 / shape) / (rate * gamma(1 + 1 / shape)) * HOUR)
        case Bathtub():
            low, high = 0.0, process.most
            for _ in range(60):  # bisections: the precision of a double
                middle = (low + high) / 2
                wear = exp((middle - process.b) / process.t2) - expm1(-middle / process.t1)
                low, high = (middle, high) if process.a * wear < u else (low, middle)
            return high * HOUR


def lost_at(process: LifetimeProcess, start: float, now: float, u: float) -> float:
    """When a node that is new at `now` is lost by a process set at `start`, by `u` in [0, 1)."""
    life = lifetime(process, u)
    if isinstance(process, Poisson) and process.by_hour is not None:
        return later(process.by_hour, start, now, life)
    return now + life


def later(by_hour: ByHour | None, start: float, now: float, seconds: float) -> float:
    """Return the moment `seconds` after `now`, by the clock of a process set at `start`."""
    return now + seconds if by_hour is None else start + by_hour.after(now - start, seconds)


def exponential(rate: float, u: float) -> float:
    """A sample in seconds of the time between events of `rate` per hour, from `u` in [0, 1)."""
    return -log1p(-u) / rate * HOUR


def eviction_rate(probability: float) -> float:
    """The loss rate per hour for Azure's eviction rate, a `probability` per hour."""
    return -log(1 - probability)


def describe(process: PreemptionProcess | CapacityProcess) -> str:
    """Describe a process in words."""
    by_hour = getattr(process, "by_hour", None)
    return _describe(process) + (", by the hour of the day" if by_hour is not None else "")


def _describe(process: PreemptionProcess | CapacityProcess) -> str:
    match process:
        case Poisson() | HyperExponential() | Weibull():
            lives = _described_lives(process)
            return f"{process.rate:g} losses per node-hour{lives}"
        case Bathtub(a, t1, t2, b, most):
            return f"bathtub lives {a:g},{t1:g},{t2:g},{b:g} of at most {most:g} h"
        case Shock(rate, fraction):
            return f"{rate:g} shocks an hour that take {fraction:.0%} of the nodes"
        case OnOff():
            return _described_outages(process)
        case _:
            return _described_counts(process)


def _described_lives(process: Poisson | HyperExponential | Weibull) -> str:
    match process:
        case HyperExponential(_, cv):
            return f", lives of cv {cv:g}"
        case Weibull(_, shape):
            return f", Weibull lives of shape {shape:g}"
        case _:
            return ""


def _described_outages(process: OnOff) -> str:
    spread = "" if process.cv is None else f", cv {process.cv:g}"
    text = f"{process.rate:g} outages an hour of {process.mean_outage_s:g} s on average{spread}"
    return text if process.nodes is None else f"{process.nodes} nodes, {text}"


def _described_counts(process: PreemptionProcess | CapacityProcess) -> str:
    match process:
        case LossScript(losses):
            return f"a script of {len(losses)} losses"
        case CapacitySteps(steps):
            return f"a script of {len(steps)} numbers of nodes"
        case Trace(gap, counts):
            return f"a trace of {len(counts)} numbers of nodes, one every {gap:g} s"
        case Constant(count):
            return f"{count} nodes"
        case _:
            raise AssertionError(process)
