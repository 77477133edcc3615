"""Weather by name and from files, and the processes of the event engine that it stands for."""

from __future__ import annotations

import json
from dataclasses import replace
from math import sqrt
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl.forecast.weather import models as weather
from mlctl.forecast.weather.models import Outages, Shocks, Weather, WeatherError
from mlctl.simulator.engine import engine
from mlctl.simulator.engine.commands import AddCluster, SetPreemption
from mlctl.simulator.engine.model import SimulationSettings
from mlctl.simulator.engine.nodes import UP_STATES
from mlctl.simulator.engine.processes import ByHour, OnOff, Poisson, Shock
from tests.builders.histories import AT_ONCE, DAY, HOUR, cluster, world

NIGHT = (0.0,) * 8 + (2.0,) * 8 + (1.0,) * 8


def test_calm_is_nothing_and_every_name_has_a_source() -> None:
    found = {name: weather.by_name(name) for name in weather.names()}
    assert {"calm", "stress", "aws-v100-2023"} <= {*found}
    assert all(one is not None and one.source for one in found.values())
    calm = found["calm"]
    assert calm is not None
    assert calm.processes() == ()


def test_a_band_is_its_middle_and_a_percentage_is_itself() -> None:
    band, percentage = weather.by_name("band:5-10"), weather.by_name("band:7.5%")
    assert band is not None
    assert percentage is not None
    assert band.rate == percentage.rate == pytest.approx(0.0780, abs=5e-5)


@pytest.mark.parametrize("text", ["band:5-11", "band:", "band:7.5", "band:-1%", "band:100%"])
def test_a_band_that_there_is_not_is_refused(text: str) -> None:
    with pytest.raises(WeatherError, match="neither one of 0-5"):
        weather.by_name(text)


def test_a_name_that_there_is_not_is_none() -> None:
    assert weather.by_name("hurricane") is None


def test_the_fits_add_up_to_what_was_published() -> None:
    """Drops 0.19 to 1.16 an hour, that take 0.50 to 0.86; of all nodes 0.04 to 0.56 an hour."""
    for name, shares in (("aws-v100-2023", (0.47, 0.66, 0.15)), ("stress", (1.16, 0.86, 0.56))):
        found = weather.by_name(name)
        assert found is not None
        assert found.shocks is not None
        assert found.outages is not None
        drops = found.shocks.per_hour + found.outages.per_hour
        taken = found.shocks.per_hour * found.shocks.fraction + found.outages.per_hour
        assert (drops, taken / drops) == pytest.approx(shares[:2], abs=0.005)
        assert found.outages.per_hour == shares[2]


weathers = st.builds(
    Weather,
    st.text(max_size=9),
    st.floats(0, 10),
    st.none() | st.builds(Shocks, st.floats(0.001, 10), st.floats(0.01, 1)),
    st.none()
    | st.builds(Outages, st.floats(0.001, 10), st.floats(0.1, 99), st.none() | st.floats(0, 9)),
    st.just(()) | st.lists(st.floats(0.1, 9), min_size=24, max_size=24).map(tuple),
    st.text(max_size=9),
)


@given(weathers)
def test_what_was_written_is_read_back(one: Weather) -> None:
    assert weather.parse(json.dumps(one.document()), "other") == one


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "not JSON"),
        ("[1]", "not weather"),
        ('{"rates": 1}', "`rates`"),
        ('{"rate": -1}', "`rate`"),
        ('{"rate": true}', "`rate`"),
        ('{"rate": 1e400}', "`rate`"),
        ('{"shocks": 1}', "`shocks`"),
        ('{"shocks": {}}', "`per_hour`"),
        ('{"shocks": {"per_hour": 1, "fraction": 2}}', "at most 1"),
        ('{"outages": {"per_hour": 1, "mean_h": 0}}', "more than 0"),
        ('{"by_hour": [1, 2]}', "24 numbers"),
        (f'{{"by_hour": {[0] * 24}}}', "not all of them 0"),
    ],
)
def test_a_file_of_another_shape_is_refused(text: str, why: str) -> None:
    with pytest.raises(WeatherError, match=why):
        weather.parse(text, "mine")


def test_the_processes_are_those_of_the_engine() -> None:
    one = Weather("w", 0.1, Shocks(0.05, 0.6), Outages(0.2, 0.5, 3.0), NIGHT)
    by_hour = ByHour(NIGHT, 3600.0)
    assert replace(one, start_s=3600.0, available=True).processes() == (
        Poisson(0.1, by_hour),
        Shock(0.05, 0.6, by_hour),
        OnOff(0.2, 1800.0, None, 3.0, by_hour),
    )


@given(
    st.lists(st.floats(0, 5), min_size=24, max_size=24).filter(any),
    st.floats(0, DAY),
    st.floats(0, 3 * DAY),
    st.floats(0, 5 * DAY),
)
def test_time_by_the_hour_is_the_inverse_of_the_integral_of_the_factors(
    factors: list[float], start: float, at: float, seconds: float
) -> None:
    end = ByHour(tuple(factors), start).after(at, seconds)
    steps, passed, now = 0, 0.0, at
    while now < end and steps < 100_000:
        hour = int((start + now) // HOUR)
        then = min((hour + 1) * HOUR - start, end)
        passed += (then - now) * factors[hour % 24]
        now, steps = then if then > now else end, steps + 1
    assert passed == pytest.approx(seconds, rel=1e-6, abs=1e-3 * max(factors) + 1e-6)


@pytest.mark.slow
def test_losses_follow_the_hour_of_the_day() -> None:
    """Nothing from midnight, twice as much from 8, as said from 16: the mean factor is 1."""
    one = Weather("w", 0.3, Shocks(0.2, 0.5), None, NIGHT)
    made = world(
        SetPreemption(replace(one, start_s=6 * HOUR).processes()),
        AddCluster(cluster(10, 10, low=True)),
        watched=False,
    )
    days = 400
    at = [each.at for each in engine.advance(made, days * DAY) if each.event == "PREEMPT"]
    hours = [int(each / HOUR + 6) % 24 for each in at]
    night, day, evening = (sum(low <= hour < low + 8 for hour in hours) for low in (0, 8, 16))
    assert night == 0
    for count, factor in ((day, 2), (evening, 1)):
        expected = (0.3 + 0.2 * 0.5) * 10 * 8 * days * factor
        assert abs(count - expected) < 4 * sqrt(expected * (1 + 9 * 0.5 * 0.2 / 0.4))


@pytest.mark.slow
@pytest.mark.parametrize(("cv", "spread"), [(None, 1.0), (0.0, 0.0), (2.0, 2.0)])
def test_outages_have_the_mean_and_the_spread_that_were_asked_for(
    cv: float | None, spread: float
) -> None:
    one = Weather("w", outages=Outages(0.5, 0.25, cv))
    settings = SimulationSettings(allocation_s=0.0, preparation_s=0.0, replacement_s=0.0)
    made = world(
        SetPreemption(one.processes()),
        AddCluster(cluster(1, 1, low=True)),
        settings=settings,
        watched=False,
    )
    began, lengths, gaps, ended = None, [], [], 0.0
    for each in engine.advance(made, 20_000 * HOUR):
        if each.event == "CAPACITY" and each.facts["nodes"] == 0:
            began = each.at
            gaps.append(each.at - ended)
        elif each.event == "CAPACITY" and began is not None:
            lengths.append(each.at - began)
            ended = each.at
    for values, mean, width in ((gaps, 2 * HOUR, 1.0), (lengths, 0.25 * HOUR, spread)):
        error = 4 * width * mean / sqrt(len(values))
        assert abs(fmean(values) - mean) <= error + 1e-6
    deviation = sqrt(fmean([(each - fmean(lengths)) ** 2 for each in lengths])) / fmean(lengths)
    assert deviation == pytest.approx(spread, rel=0.2, abs=1e-9)


def test_an_outage_takes_every_node_and_lets_none_come() -> None:
    one = Weather("w", outages=Outages(0.5, 3.0, 0.5))
    commands = (SetPreemption(one.processes()), AddCluster(cluster(5, 5, low=True)))
    made = world(*commands, settings=AT_ONCE)
    for each in engine.advance(made, 20 * HOUR):
        if each.event == "CAPACITY" and each.facts["nodes"] == 0:
            break
    up = made.clusters["c"].nodes_by_state
    assert made.now < 20 * HOUR
    assert not any(up[state] for state in UP_STATES)


@pytest.mark.parametrize(("cv", "left_h"), [(None, 2.0), (1.5, 2.0 * (1 + 1.5**2) / 2)])
def test_at_any_moment_there_may_be_an_outage_that_has_long_to_go(
    cv: float | None, left_h: float
) -> None:
    """A third of the time there is one; what is left of it is the residual of a renewal process."""
    processes = Weather("w", outages=Outages(0.25, 2.0, cv)).processes()
    seeds = [f"any/{number}" for number in range(4000)]
    started = [weather.placed(processes, seed) for seed in seeds]
    left_s = [one.out_s for [one] in started if isinstance(one, OnOff) and weather.is_out((one,))]
    assert len(left_s) / len(seeds) == pytest.approx(1 / 3, abs=0.03)
    assert sum(left_s) / len(left_s) == pytest.approx(left_h * 3600, rel=0.15)


def test_with_nodes_to_be_had_no_history_begins_in_an_outage() -> None:
    there = Weather("w", outages=Outages(0.25, 2.0), available=True).processes()
    assert not any(weather.is_out(weather.placed(there, f"{seed}")) for seed in range(100))
    assert not weather.begins_by_chance(there)
