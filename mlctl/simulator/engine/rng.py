"""Random numbers by key: the same key gives the same number, in any order.

There is no generator state, so a stored state continues as if it had never been stored, and
scenarios that share a key share its random number.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from math import cos, exp, log, log1p, sin, sqrt, tau
from random import Random
from statistics import NormalDist
from struct import Struct

_STANDARD = NormalDist()
SCALE = 2.0**-53
ROW = 8  # numbers in a digest of BLAKE2b
_WORDS = Struct(f"<{ROW}Q").unpack


def uniform(key: str) -> float:
    """Return a number in [0, 1), six times as fast as seeding a generator for one number."""
    digest = blake2b(key.encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 11) * SCALE


def uniform_of_row(number: int, *key: object) -> float:
    """Return the number at `number` of a sequence by key; eight of them cost one hash."""
    return (_recent_row(*key, number // ROW)[number % ROW] >> 11) * SCALE


@lru_cache(maxsize=64)
def _recent_row(*key: object) -> tuple[int, ...]:
    """Return a row of words; nodes that come at the same time share it."""
    return words_of_row("/".join(map(str, key)))


def words_of_row(key: str) -> tuple[int, ...]:
    """Return the words of a key that ends with a row number: `(w >> 11) * SCALE` is in [0, 1)."""
    return _WORDS(blake2b(key.encode()).digest())


def generator(key: str) -> Random:
    """Return a generator for many numbers (CPython seeds it by SHA-512, on every machine)."""
    return Random(key)


def log_normal(mean: float, cv: float, key: str) -> float:
    """Sample with this mean and coefficient of variation; the mean itself if `cv` is 0."""
    if cv == 0:
        return mean
    mu, sigma = log_normal_of(cv)
    u = uniform(key) or SCALE
    return mean * exp(mu + sigma * _STANDARD.inv_cdf(u))


def log_normal_of(cv: float) -> tuple[float, float]:
    """Return mu and sigma of a log-normal factor of mean 1 and coefficient of variation `cv`."""
    variance = log1p(cv * cv)
    return -variance / 2, sqrt(variance)


def log_normals(mean: float, cv: float, count: int, random: Callable[[], float]) -> list[float]:
    """So many log-normal numbers, those that `Random.gauss` gives, in half its time.

    A pair of uniform numbers, by `random`, gives a pair of normal ones (Box and Muller 1958).
    """
    mu, sigma = log_normal_of(cv)
    numbers: list[float] = []
    add = numbers.append
    for _ in range((count + 1) // 2):
        angle = random() * tau
        length = sqrt(-2.0 * log(1.0 - random()))
        add(mean * exp(mu + cos(angle) * length * sigma))
        add(mean * exp(mu + sin(angle) * length * sigma))
    return numbers[:count]
