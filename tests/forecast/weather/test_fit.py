"""Weather fitted to what it did: intervals cover the truth, and no shocks are found without any."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from mlctl.forecast.weather import fit
from mlctl.forecast.weather.fit import FitError, LossCounts
from mlctl.forecast.weather.models import Shocks, Weather
from mlctl.simulator.engine import engine
from mlctl.simulator.engine.commands import AddCluster, SetPreemption
from mlctl.simulator.engine.model import SimulationSettings
from tests.builders.forecasts import noted_share
from tests.builders.histories import DAY, cluster, world

MONTHS = 40
TRUTH = Weather("w", 0.1, Shocks(0.05, 0.6))
SETTINGS = SimulationSettings(allocation_s=0.0, preparation_s=0.0, replacement_s=180.0)


def observed(seed: str, weather: Weather, *, days: int = 30, nodes: int = 8) -> LossCounts:
    """What the minutes of a cluster of the event engine say of its losses."""
    commands = (SetPreemption(weather.processes()), AddCluster(cluster(nodes, nodes, low=True)))
    made = world(*commands, settings=SETTINGS, seed=seed, watched=False)
    counts: Counter[tuple[int, int]] = Counter()
    minute, up, began, lost = 0, 0, 0, 0
    for event in engine.advance(made, days * DAY):
        step = {"READY": 1, "PREEMPT": -1}.get(event.event)
        if step is not None:
            now = int(event.at // 60)
            if now != minute:
                counts[max(began, lost), lost] += 1
                counts[up, 0] += now - minute - 1
                minute, began, lost = now, up, 0
            up, lost = up + step, lost + (step < 0)
    counts[max(began, lost), lost] += 1
    return LossCounts(1 / 60, counts)


@pytest.mark.slow
def test_the_intervals_cover_the_truth_in_95_of_100_cases() -> None:
    covered: Counter[str] = Counter()
    for month in range(MONTHS):
        found = fit.fit(observed(f"month/{month}", TRUTH))
        for name, true in (("rate", 0.1), ("shocks", 0.05), ("fraction", 0.6)):
            estimate = getattr(found, name)
            covered[name] += estimate is not None and estimate.low <= true <= estimate.high
    assert 0.90 <= noted_share(covered.total(), 3 * MONTHS) <= 0.99
    assert all(count >= 0.90 * MONTHS for count in covered.values())


@pytest.mark.slow
def test_no_shocks_are_found_where_there_are_none() -> None:
    covered = 0
    for month in range(MONTHS):
        found = fit.fit(observed(f"calm/{month}", Weather("w", 0.2)))
        assert found.shocks is None
        assert found.fraction is None
        covered += found.rate.low <= 0.2 <= found.rate.high
    assert noted_share(covered, MONTHS) >= 0.90


def test_two_months_say_clearly_that_losses_come_together() -> None:
    found = fit.fit(observed("two months", TRUTH, days=60))
    assert found.shocks is not None
    assert found.fraction is not None
    assert found.rate.value == pytest.approx(0.1, rel=0.15)
    assert found.shocks.value == pytest.approx(0.05, rel=0.35)
    assert found.fraction.value == pytest.approx(0.6, rel=0.15)
    assert found.gain > 500
    assert found.chance < 1e-9


def test_losses_without_shocks_are_a_share_of_the_node_hours() -> None:
    """One in a thousand node-minutes is 0.06003 an hour; the interval is that of a proportion."""
    found = fit.fit(LossCounts(1 / 60, {(1, 0): 99_900, (1, 1): 100}))
    assert found.rate.value == pytest.approx(0.06003, abs=1e-5)
    assert (found.rate.low, found.rate.high) == pytest.approx((0.0490, 0.0726), abs=2e-4)
    assert found.shocks is None


def test_a_cluster_that_lost_nothing_has_a_rate_that_can_be_little() -> None:
    found = fit.fit(LossCounts(1 / 60, {(8, 0): 10_000}))
    assert (found.rate.value, found.rate.low) == (0, 0)
    assert found.rate.high == pytest.approx(1.9207 / (80_000 / 60), rel=0.01)


def test_what_was_fitted_is_weather() -> None:
    found = fit.fit(observed("weather", TRUTH))
    weather = found.weather("mine", "metrics")
    assert weather.shocks is not None
    assert weather.rate == found.rate.value


def ours(*rows: tuple[float, float, float]) -> list[Any]:
    """Metrics of mlctl: nodes in all, preempted at the beginning, and lost in the minute."""
    starts = [f"2026-06-18T08:{number:02}:00Z" for number in range(len(rows))]
    lost = [
        {"time_stamp": at, "average": 0, "minimum": was, "maximum": was + fell, "total": fell}
        for at, (_, was, fell) in zip(starts, rows, strict=True)
    ]
    there = [
        {"time_stamp": at, "average": 0, "minimum": all_, "maximum": all_, "total": all_}
        for at, (all_, _, _) in zip(starts, rows, strict=True)
    ]
    return [
        {"metric": "Preempted Nodes", "interval_s": 60, "data": lost},
        {"metric": "Total Nodes", "interval_s": 60, "data": there},
    ]


ROWS = ((8, 0, 0), (8, 0, 3), (8, 3, 0), (8, 3, 1), (8, 4, 0))


def test_the_metrics_of_mlctl_are_read() -> None:
    losses = fit.read(json.dumps(ours(*ROWS)))
    assert losses == LossCounts(1 / 60, {(8, 0): 1, (8, 3): 1, (5, 0): 1, (5, 1): 1, (4, 0): 1})


def test_cores_are_nodes_of_so_many_cores() -> None:
    metrics = ours(*(tuple(4 * one for one in row) for row in ROWS))  # type: ignore[arg-type]
    for one in metrics:
        one["metric"] = one["metric"].replace("Nodes", "Cores")
    assert fit.read(json.dumps(metrics), cores_per_node=4) == fit.read(json.dumps(ours(*ROWS)))


def test_a_body_of_azure_monitor_counts_preempted_nodes_and_not_losses() -> None:
    """Microsoft.Insights/metrics: a gauge, of which the rises are losses."""

    def metric(name: str, values: list[float]) -> dict[str, Any]:
        data = [
            {"timeStamp": f"2026-06-18T08:{number:02}:00Z", "average": value}
            for number, value in enumerate(values)
        ]
        return {"name": {"value": name, "localizedValue": name}, "timeseries": [{"data": data}]}

    body = {"value": [metric("Preempted Nodes", [0, 3, 3, 4, 1]), metric("Total Nodes", [8] * 5)]}
    losses = fit.read(json.dumps(body))
    assert losses.lost == 4


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "neither the shape"),
        ("[]", "no metric `Preempted Nodes`"),
        ('[{"metric": "Idle Nodes", "data": []}]', "but `Idle Nodes`"),
        ('[{"metric": "Idle Nodes"}]', "neither the shape"),
        (json.dumps(ours((8, 0, 0))), "two intervals or more"),
        (json.dumps(ours(*ROWS)).replace("08:03:00", "08:13:00"), "gap after 2026-06-18T08:02"),
        (json.dumps(ours(*ROWS)).replace("08:0", "0").replace(":00Z", ":00:00Z"), "by the minute"),
        (json.dumps(ours(*ROWS)).replace("2026-", "in "), "no moment"),
        (json.dumps(ours((2, 0, 0), (2, 0, 5))), "the two metrics are of two clusters"),
        (json.dumps(ours(*ROWS)).replace('"maximum"', '"most"'), "neither the shape"),
    ],
)
def test_metrics_of_another_shape_are_a_sentence(text: str, why: str) -> None:
    with pytest.raises(FitError, match=why):
        fit.read(text)


def test_metrics_without_nodes_say_nothing() -> None:
    with pytest.raises(FitError, match="no node was there"):
        fit.fit(fit.read(json.dumps(ours((0, 0, 0), (0, 0, 0)))))
