"""Training with checkpoints on a node that can be lost: expectations in closed form.

NodeLosses are a Poisson process, so an attempt at a stretch of L seconds succeeds with the chance
exp(-rate L), and lasts (1 - exp(-rate L)) / rate on average either way. Repeating it until it
succeeds takes (exp(rate L) - 1) / rate (J. T. Daly, "A higher order estimate of the optimum
checkpoint interval for restart dumps", Future Generation Computer Systems 22, 2006). This adds the
time to get a new node, a restore that can be interrupted, and a first stretch without one. Times
are seconds, rates per second.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, expm1, sqrt

from mlctl.dataclasses import dataclass

_EVERY_ONE = 512  # all intervals up to this are tried
_GRID = 1.02  # beyond, each is this multiple of the one before


@dataclass(frozen=True, slots=True)
class NodeLosses:
    """How often a node is lost, and how long it takes to get one.

    It takes `first_s` to get the first node, `again_s` to replace a lost one; a node is then
    prepared for `preparation_s`, in which it can be lost, too.
    """

    rate: float
    first_s: float = 0.0
    again_s: float = 0.0
    preparation_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Steps:
    """The work: equal steps, the time to write a checkpoint, and the time to restore one."""

    count: int
    step_s: float
    checkpoint_s: float = 0.0
    restore_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Expected:
    """The expectations of a job from its submission to its end.

    `billed_s` is the time that a node exists; `points` are the logged steps, including repeated
    ones.
    """

    time_s: float
    billed_s: float
    points: float
    interruptions: float


def expected(work: Steps, every: int, losses: NodeLosses) -> Expected:
    """Compute the expectations with a checkpoint after `every` steps; 0: without any."""
    parts = [_stretch(part, losses.rate) for part in _stretches(work, every)]
    up, lost, points = map(sum, zip(*parts, strict=True))
    prepared = _until(losses.preparation_s, losses.rate)
    again = exp(_bounded(losses.rate * losses.preparation_s)) * losses.again_s
    waits = losses.first_s + again - losses.again_s + lost * again
    billed = up + (1 + lost) * prepared
    return Expected(waits + billed, billed, points, lost)


def best(work: Steps, losses: NodeLosses) -> int:
    """Return the number of steps between checkpoints that ends the job soonest, by `expected`.

    The smallest of several equal ones; 0 if the job is best without checkpoints.
    """
    candidate = min(_candidates(work.count), key=lambda every: expected(work, every, losses).time_s)
    around = range(
        max(int(candidate / _GRID**2) - 1, 1), min(int(candidate * _GRID**2) + 2, work.count)
    )
    closer = min([candidate, *around], key=lambda every: expected(work, every, losses).time_s)
    is_best_without = expected(work, 0, losses).time_s <= expected(work, closer, losses).time_s
    return 0 if is_best_without else closer


def young(work: Steps, rate: float) -> int | None:
    """Return Young's interval (1974) in steps: sqrt(2 * checkpoint / rate); None without losses."""
    return _steps(sqrt(2 * work.checkpoint_s / rate), work) if rate > 0 else None


def daly(work: Steps, rate: float) -> int | None:
    """Return Daly's interval (2006, equation 37) in steps; None without losses."""
    if rate <= 0:
        return None
    mean, cost = 1 / rate, work.checkpoint_s
    if cost >= 2 * mean:
        return _steps(mean, work)
    share = cost / (2 * mean)
    return _steps(sqrt(2 * cost * mean) * (1 + sqrt(share) / 3 + share / 9) - cost, work)


def _steps(seconds: float, work: Steps) -> int:
    return min(max(round(seconds / work.step_s), 1), work.count)


@dataclass(frozen=True, slots=True)
class _Stretch:
    """`times` equal stretches of steps, each with what follows it and what precedes a retry."""

    times: int
    steps: int
    step_s: float
    checkpoint_s: float
    restore_s: float


def _stretches(work: Steps, every: int) -> Iterator[_Stretch]:
    """Yield the stretches between checkpoints; no checkpoint is written at the end."""
    steps = every or work.count
    whole = (work.count - 1) // steps
    if not whole:
        yield _Stretch(1, work.count, work.step_s, 0.0, 0.0)
        return
    yield _Stretch(1, steps, work.step_s, work.checkpoint_s, 0.0)
    if whole > 1:
        yield _Stretch(whole - 1, steps, work.step_s, work.checkpoint_s, work.restore_s)
    yield _Stretch(1, work.count - whole * steps, work.step_s, 0.0, work.restore_s)


def _stretch(stretch: _Stretch, rate: float) -> tuple[float, float, float]:
    """Return the seconds that nodes are up, the losses and the logged steps of equal stretches."""
    length = stretch.steps * stretch.step_s + stretch.checkpoint_s
    fails = -expm1(-rate * length)
    tries = fails * exp(_bounded(rate * (stretch.restore_s + length)))  # after the first
    one_step = rate * stretch.step_s
    logged = float(stretch.steps)
    if one_step > 0:  # q + q^2 + ... + q^steps, of q = exp(-rate * step)
        logged = exp(-one_step) * expm1(-one_step * stretch.steps) / expm1(-one_step)
    return (
        stretch.times * (lasts(length, rate) + fails * _until(stretch.restore_s + length, rate)),
        stretch.times * tries,
        stretch.times * logged * (1 + tries * exp(-rate * stretch.restore_s)),
    )


def lasts(length: float, rate: float) -> float:
    """Return the duration of an attempt, interrupted or not."""
    return length if rate <= 0 else -expm1(-rate * length) / rate


def _until(length: float, rate: float) -> float:
    """Return the duration of attempts until one is not interrupted."""
    return length if rate <= 0 else expm1(_bounded(rate * length)) / rate


def _bounded(exponent: float) -> float:
    """Limit an exponent to what a float can represent: what takes e^700 attempts is never done."""
    return min(exponent, 600.0)


def _candidates(count: int) -> Iterator[int]:
    yield from range(1, min(count, _EVERY_ONE) + 1)
    last = _EVERY_ONE
    while last < count:
        last = min(max(int(last * _GRID), last + 1), count)
        yield last
