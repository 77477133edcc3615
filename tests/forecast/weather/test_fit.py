"""Weather fitted to what it did: intervals cover the truth, and no shocks are found without any."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from math import log, sqrt
from random import Random
from typing import Any

import pytest

from mlctl.forecast.batch.policy import RecoveryPolicy, Way
from mlctl.forecast.batch.study import Study
from mlctl.forecast.scenario import Scenario
from mlctl.forecast.statistics import Estimate, quantile
from mlctl.forecast.weather import fit
from mlctl.forecast.weather.fit import FitError, LossCounts, _log_normal
from mlctl.forecast.weather.models import Outages, Shocks, Weather
from mlctl.simulator.engine import engine
from mlctl.simulator.engine.commands import AddCluster, SetPreemption
from mlctl.simulator.engine.model import (
    BatchSpec,
    BatchWork,
    ClusterSpec,
    SimulationSettings,
    Tier,
)
from mlctl.simulator.engine.processes import Trace
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
    assert losses.counts == {(8, 0): 1, (8, 3): 1, (5, 0): 1, (5, 1): 1, (4, 0): 1}
    assert losses.hours == 1 / 60


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
        (json.dumps(ours((8, 0, 0))), "at least two intervals"),
        (json.dumps(ours(*ROWS)).replace("08:03:00", "08:13:00"), "gap after 2026-06-18T08:02"),
        (json.dumps(ours(*ROWS)).replace("08:0", "0").replace(":00Z", ":00:00Z"), "by the minute"),
        (json.dumps(ours(*ROWS)).replace("2026-", "in "), "time stamp is invalid"),
        (json.dumps(ours((2, 0, 0), (2, 0, 5))), "the metrics are of different clusters"),
        (json.dumps(ours(*ROWS)).replace('"maximum"', '"most"'), "neither the shape"),
    ],
)
def test_metrics_of_another_shape_are_a_sentence(text: str, why: str) -> None:
    with pytest.raises(FitError, match=why):
        fit.read(text)


def test_metrics_without_nodes_say_nothing() -> None:
    with pytest.raises(FitError, match="there were never any nodes"):
        fit.fit(fit.read(json.dumps(ours((0, 0, 0), (0, 0, 0)))))


def trace(seed: str, there_h: float, out_h: float, cv: float = 0.0, days: float = 60) -> list[int]:
    """A node or none every five minutes: there and away for exponential or log-normal times."""
    points: list[int] = []
    random, left_s, node = Random(seed), 0.0, 0
    variance = log(1 + cv * cv)
    while len(points) * 300 < days * DAY:
        node = 1 - node
        length_h = random.expovariate(1 / (there_h if node else out_h))
        if cv and not node:
            length_h = random.lognormvariate(log(out_h) - variance / 2, sqrt(variance))
        left_s += length_h * 3600
        points += [node] * int(left_s // 300)
        left_s %= 300
    return points


def of_trace(points: list[int]) -> fit.Fit:
    return fit.fit(fit.read(json.dumps({"metadata": {"gap_seconds": 300}, "data": points})))


@pytest.mark.parametrize(("there_h", "out_h", "cv"), [(3, 2, 0), (6, 2, 2.0), (12, 4, 0)])
def test_outages_of_a_trace_have_the_law_that_it_was_made_by(
    there_h: float, out_h: float, cv: float
) -> None:
    found = of_trace(trace("law", there_h, out_h, cv, days=120))
    assert found.outages is not None
    assert found.outage_h is not None
    assert found.outages.low < 1 / there_h < found.outages.high
    assert found.outage_h.value == pytest.approx(out_h, rel=0.15)
    assert found.outage_cv == (pytest.approx(cv, rel=0.3) if cv else None)
    assert (found.rate.value, found.shocks, found.unlike) == (0, None, ())
    written = found.weather("mine", "a trace").outages
    assert written == Outages(found.outages.value, found.outage_h.value, found.outage_cv)


def test_outages_of_metrics_are_told_from_losses_that_are_replaced() -> None:
    """Losses of all nodes for minutes are shocks; outages of hours are outages."""
    steps: list[tuple[int, int, bool]] = []
    random = Random("metrics")
    for _ in range(300):
        steps += [(4, 0, False)] * round(random.expovariate(1 / 300)) + [(4, 4, False)]
        out = random.expovariate(1 / 120) if random.random() < 0.5 else 4
        steps += [(0, 0, True)] * round(out)
    found = fit.fit(fit._losses(1 / 60, steps, fit._REPLACED_S))
    assert found.outages is not None
    assert found.outage_h is not None
    assert found.outages.low < 0.5 / 5 < found.outages.high
    assert found.outage_h.low < 2 < found.outage_h.high
    assert found.shocks is not None


def test_halves_that_are_not_alike_are_told() -> None:
    worse = of_trace(trace("calm", 12, 1, days=20) + trace("bad", 1, 1, days=20))
    assert [text.split()[0] for text in worse.unlike] == ["losses", "outages"][-len(worse.unlike) :]
    longer = of_trace(trace("short", 3, 0.5, days=30) + trace("long", 3, 6, days=30))
    assert any(text.startswith("outages last") for text in longer.unlike)


AT_ONCE = replace(SETTINGS, replacement_s=0.0, billing_granularity_s=0.0)


def spans(weather: Weather) -> list[float]:
    """How long eight hours of work on one node take that keeps what is done, in each history."""
    job = BatchSpec("1/forecast", "1/c", 480, BatchWork(per_mini_batch_s=60.0), 1, 1, timeout_s=1e9)
    nodes = ClusterSpec("1/c", Tier.LOW_PRIORITY, 0, 1, 0.0, price=1.0)
    work = Scenario(nodes, job, AT_ONCE, 1.0, weather.processes())
    study = Study(work, RecoveryPolicy(Way.REMAINING))
    return sorted(history.done_s for history in study.histories(range(200)))


@pytest.mark.slow
def test_the_band_of_the_first_half_covers_the_second_where_they_are_alike() -> None:
    shares = []
    for there_h, out_h, cv in ((3, 1, 0), (4, 2, 0), (2, 3, 0), (6, 2, 2.0), (8, 4, 0)):
        points = trace(f"{there_h}/{out_h}", there_h, out_h, cv, days=120)
        middle = len(points) // 2
        fitted = spans(of_trace(points[:middle]).weather("fit", "the first half"))
        low, high = quantile(fitted, 0.05), quantile(fitted, 0.95)
        second = spans(Weather("second half", trace=Trace(300.0, tuple(points[middle:]))))
        shares.append(sum(low <= span <= high for span in second) / len(second))
    assert 0.8 <= sum(shares) / len(shares) <= 0.97
    assert min(shares) >= 0.75


def test_outages_are_log_normal_only_where_that_is_clearly_likelier() -> None:
    length = Estimate(2.0, 1.0, 4.0)
    assert _log_normal((1.0, 2.0, 3.0, 4.0), 0.0, length) == (length, None)  # likelier by 1.4
    _, cv = _log_normal((1.0, 1.5, 2.0, 3.0), 0.0, length)  # by 2.3
    assert cv is not None
