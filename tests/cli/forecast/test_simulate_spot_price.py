"""`--spot-price`: what a forecast costs at the ends of the rate of Spot."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from mlctl import backends
from mlctl.catalog.prices import Price
from tests.builders.shell import Run, edit

FLAGS = ("--files", "100", "--seconds-per-file", "8", "--runs", "30")
SIZE = ("Standard_DS3_v2", "eastus")


def sentence(mlctl: Run, sample: Path, *more: str) -> Any:
    """The numbers of the sentence of a forecast."""
    return mlctl("simulate", sample, *FLAGS, *more, "-o", "json").json["sentence"]


def test_the_rate_of_the_list_is_told_with_its_day(mlctl: Run, sample: Path) -> None:
    out = " ".join(mlctl("simulate", sample, *FLAGS).out.split())
    assert "at the rate of 0.03223 USD an hour of a node, known since 2024-08-26." in out


def test_two_ends_of_the_rate_are_two_costs_of_the_same_histories(mlctl: Run, sample: Path) -> None:
    numbers = sentence(mlctl, sample, "--spot-price", "0.01..0.1")
    rate, cost = numbers["rate"], numbers["low_priority"]["cost"]
    assert (rate["usd"], rate["as_of"]) == (0.03223, None)
    assert rate["low"]["cost"] == pytest.approx(cost * 0.01 / 0.03223)
    assert rate["high"]["cost"] == pytest.approx(cost * 0.1 / 0.03223)


def test_the_tornado_has_the_ends_of_the_rate(mlctl: Run, sample: Path) -> None:
    done = mlctl(
        *("simulate", sample, *FLAGS, "--sensitivity", "--spot-price", "0.01..0.1", "-o", "json")
    )
    rows = {row["name"]: row for row in done.json["sensitivity"]}
    price = rows["low_priority_price"]
    assert (price["low"]["value"], price["high"]["value"]) == (0.01, 0.1)


@pytest.mark.parametrize(
    ("ends", "usd"), [("0.05..0.1", 0.05), ("0.001..0.002", 0.002), ("0.01..9", 0.03223)]
)
def test_the_rate_is_the_nearer_end_where_the_list_is_outside(
    mlctl: Run, sample: Path, ends: str, usd: float
) -> None:
    assert sentence(mlctl, sample, "--spot-price", ends)["rate"]["usd"] == usd


def test_no_end_is_above_the_dedicated_price(mlctl: Run, sample: Path) -> None:
    assert sentence(mlctl, sample, "--spot-price", "0.01..9")["rate"]["high"]["usd"] == 0.293


def test_the_rate_of_now_is_asked_and_stands_beside_the_list(
    mlctl: Run, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def fetch(_: str, sizes: Any, regions: Any, today: date) -> Any:
        asked.append((*sizes, *regions))
        return {SIZE: Price(0.3, 0.06)}

    monkeypatch.setattr(backends, "fetch_prices", fetch)
    rate = sentence(mlctl, sample, "--spot-price", "now")["rate"]
    assert [(size.casefold(), region) for size, region in asked] == [("standard_ds3_v2", "eastus")]
    assert (rate["usd"], rate["low"]["usd"], rate["high"]["usd"]) == (0.06, 0.03223, 0.06)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", rate["as_of"])


def test_a_list_may_say_the_rate_alone(mlctl: Run, sample: Path, tmp_path: Path) -> None:
    head = "# source: mine\n# as_of: 2026-11-01\nsize,region,dedicated,spot\n"
    (tmp_path / "mine.csv").write_text(f"{head}Standard_DS3_v2,eastus,,0.2\n")
    rate = sentence(mlctl, sample, "--spot-price", "mine.csv")["rate"]
    assert (rate["usd"], rate["as_of"]) == (0.2, "2026-11-01")


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--spot-price", "2..1"], "the lower end first"),
        (["--spot-price", "0.1..1e999"], "neither now, nor LOW..HIGH"),
        (["--spot-price", "1.2.3..4"], "neither now, nor LOW..HIGH"),
        (["--spot-price", "nowhere.csv"], "No such file"),
        (["--spot-price", "now", "--low-priority-ratio", "1"], "exclude each other"),
    ],
)
def test_what_is_no_rate_is_refused(mlctl: Run, sample: Path, flags: list[str], why: str) -> None:
    done = mlctl("simulate", sample, *FLAGS, *flags)
    assert (done.code, why in done.err) == (1, True), done.err


def test_another_region_changes_prices_and_nothing_else(mlctl: Run, sample: Path) -> None:
    """Under one seed the same nodes are lost at the same moments, wherever the cluster is."""
    cluster = sample / "low-pri-cluster.yml"
    edit(cluster, "max_instances", "location: eastus\nmax_instances")
    home = mlctl("simulate", sample, *FLAGS, "-o", "json").json
    edit(cluster, "location: eastus", "location: westus3")
    away = mlctl("simulate", sample, *FLAGS, "-o", "json").json
    assert (home["scenario"]["price"], away["scenario"]["price"]) == (0.293, 0.229)
    for row, other in zip(home["rows"], away["rows"], strict=True):
        for name in ("completion_s", "cancelled", "lost_node_hours", "attempts", "histogram"):
            assert row[name] == other[name]
        assert row["until_done"]["time_s"] == other["until_done"]["time_s"]
        assert row["cost"]["mean"]["value"] > other["cost"]["mean"]["value"]
