"""What takes nodes away, and what says how many there are to have.

Rates are per hour. Processes combine: every one of them strikes. None of them knows a world; the
chance in them comes in as a number between 0 and 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, expm1, gamma, log, log1p, sqrt

from mlctl.simulator.engine.model import HOUR

ALL = "all"


@dataclass(frozen=True, slots=True)
class Poisson:
    """Each node is lost at `rate`, whatever its age."""

    rate: float


@dataclass(frozen=True, slots=True)
class HyperExponential:
    """Node lives of mean 1/`rate` and coefficient of variation `cv` >= 1 (balanced means)."""

    rate: float
    cv: float


@dataclass(frozen=True, slots=True)
class Weibull:
    """Node lives of mean 1/`rate`; `shape` below 1: who has lived long lives longer."""

    rate: float
    shape: float


@dataclass(frozen=True, slots=True)
class Bathtub:
    """F(t) = a (1 - exp(-t/t1) + exp((t - b)/t2)) in hours, and the end at `most` hours at last.

    Kadupitiya et al., HPDC '20 (arXiv 1911.05160). GCP's VMs had such an end, Azure's have none.
    """

    a: float
    t1: float
    t2: float
    b: float
    most: float = 24.0


@dataclass(frozen=True, slots=True)
class Shock:
    """At `rate`, capacity drops: each node that is up is lost with probability `fraction`."""

    rate: float
    fraction: float = 1.0


@dataclass(frozen=True, slots=True)
class LossScript:
    """Losses at given seconds: of the node with this number in every cluster, or of all."""

    losses: tuple[tuple[float, int | str], ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """How many nodes there are in each `gap_s`, from `offset` on and round again at the end."""

    gap_s: float
    nodes: tuple[int, ...]
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Constant:
    """Always as many nodes."""

    nodes: int


@dataclass(frozen=True, slots=True)
class CapacitySteps:
    """(second, nodes from then on); before the first step there is no limit."""

    steps: tuple[tuple[float, int], ...]


@dataclass(frozen=True, slots=True)
class OnOff:
    """`nodes` (None: no limit), but for outages: they begin at `rate`, last `mean_outage_s`."""

    rate: float
    mean_outage_s: float
    nodes: int | None = None


LifetimeProcess = Poisson | HyperExponential | Weibull | Bathtub
PreemptionProcess = LifetimeProcess | Shock | LossScript | Trace
CapacityProcess = Constant | CapacitySteps | Trace | OnOff


def lifetime(process: LifetimeProcess, u: float) -> float:
    """The seconds that a node lives, by the inverse of the distribution at `u` in [0, 1)."""
    match process:
        case Poisson(rate):
            return exponential(rate, u)
        case HyperExponential(rate, cv):
            first = (1 + sqrt((cv * cv - 1) / (cv * cv + 1))) / 2
            if u < first:
                return exponential(2 * first * rate, u / first)
            return exponential(2 * (1 - first) * rate, (u - first) / (1 - first))
        case Weibull(rate, shape):
            return float((-log1p(-u)) ** (1 / shape) / (rate * gamma(1 + 1 / shape)) * HOUR)
        case Bathtub():
            return _bathtub(process, u)


def exponential(rate: float, u: float) -> float:
    """The seconds until an event that happens `rate` times an hour."""
    return -log1p(-u) / rate * HOUR


def _bathtub(process: Bathtub, u: float) -> float:
    low, high = 0.0, process.most
    for _ in range(60):  # to the last bit of a double
        middle = (low + high) / 2
        wear = exp((middle - process.b) / process.t2) - expm1(-middle / process.t1)
        low, high = (middle, high) if process.a * wear < u else (low, middle)
    return high * HOUR


def eviction_rate(probability: float) -> float:
    """The rate per hour behind Azure's eviction band: the chance to be evicted within an hour."""
    return -log(1 - probability)
