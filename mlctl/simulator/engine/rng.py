"""Chance by key: the same key gives the same number, whatever was drawn before.

No generator is carried along, so that a state which was written down and read back goes on as if
nothing had been, and two scenarios that share a key share their luck.
"""

from __future__ import annotations

from hashlib import blake2b
from math import exp, log1p, sqrt
from random import Random
from statistics import NormalDist

_STANDARD = NormalDist()
_SCALE = 2.0**-53


def uniform(key: str) -> float:
    """A number in [0, 1). Six times as fast as to seed a generator for a single number."""
    digest = blake2b(key.encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 11) * _SCALE


def generator(key: str) -> Random:
    """Many numbers at once (CPython hashes the text by SHA-512: the same on every machine)."""
    return Random(key)


def log_normal(mean: float, cv: float, key: str) -> float:
    """A number with this mean and coefficient of variation; the mean itself where `cv` is 0."""
    if cv == 0:
        return mean
    mu, sigma = log_normal_of(cv)
    u = uniform(key) or _SCALE
    return mean * exp(mu + sigma * _STANDARD.inv_cdf(u))


def log_normal_of(cv: float) -> tuple[float, float]:
    """The mu and sigma of a log-normal factor of mean 1."""
    variance = log1p(cv * cv)
    return -variance / 2, sqrt(variance)
