"""Rates of eviction."""

from __future__ import annotations

import pytest

from mlctl.simulator.engine.processes import Poisson, eviction_rate, lifetime
from tests.builders.histories import (
    HOUR,
)


@pytest.mark.parametrize(
    ("band", "rate"),
    [(0.025, 0.0253), (0.075, 0.0780), (0.125, 0.1335), (0.175, 0.1924), (0.25, 0.2877)],
)
def test_eviction_bands_are_rates(band: float, rate: float) -> None:
    assert eviction_rate(band) == pytest.approx(rate, abs=5e-5)


def test_the_chance_to_be_lost_within_an_hour_is_that_of_the_band() -> None:
    assert lifetime(Poisson(eviction_rate(0.175)), 0.175) == pytest.approx(HOUR)
