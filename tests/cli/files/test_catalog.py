"""`mlctl catalog show`, and the price list of a project."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from mlctl import backends, catalog
from mlctl.catalog import prices, retail
from mlctl.catalog.prices import Price
from mlctl.service_errors import Transient
from tests.builders.served import serving
from tests.builders.shell import Run

MINE = "# source: mine\n# as_of: 2026-11-01\nsize,region,dedicated,spot\n"
CLUSTER = """$schema: https://azuremlschemas.azureedge.net/latest/amlCompute.schema.json
name: cpu
type: amlcompute
size: Standard_DS3_v2
tier: low_priority
max_instances: 2
location: {region}
"""


def test_what_a_size_costs_is_listed_by_region_with_day_and_source(mlctl: Run) -> None:
    done = mlctl("catalog", "show", "standard_ds3_V2", "-o", "json")
    found = {row["region"]: (row["dedicated"], row["spot"]) for row in done.json}
    assert (len(found), found["eastus"], found["westus3"]) == (
        9,
        (0.293, 0.03223),
        (0.229, 0.025282),
    )
    assert "USD, Linux, pay as you go, 2024-08-26: Azure's retail prices" in done.err


def test_a_price_that_is_not_known_is_null_not_a_share_of_another(mlctl: Run) -> None:
    (row,) = mlctl("catalog", "show", "Standard_B2s", "--region", "East US", "-o", "json").json
    assert row == {"size": "Standard_B2s", "region": "eastus", "dedicated": 0.0416, "spot": None}


def test_a_size_without_a_price_is_said(mlctl: Run) -> None:
    done = mlctl("catalog", "show", "Standard_DS3_v3")
    assert (done.code, "no price of `Standard_DS3_v3` is known" in done.err) == (2, True)


def test_a_plan_and_a_forecast_read_the_list_of_the_project(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "mlctl.yml").write_text("prices: mine.csv\n")
    (tmp_path / "mine.csv").write_text(f"{MINE}Standard_DS3_v2,westeurope,1,0.9\n")
    (tmp_path / "cpu.yml").write_text(CLUSTER.format(region="westeurope"))
    told = " ".join(mlctl("plan", "cpu.yml").out.split())
    assert "1,314.00 (+1,314.00) Standard_DS3_v2 low priority" in told
    assert "westeurope, 2026-11-01 (mine)" in told
    assert "saves 0.20 USD an hour on 2 nodes" in told
    (row,) = mlctl("catalog", "show", "-o", "json").json
    assert (row["region"], row["spot"]) == ("westeurope", 0.9)


def test_a_region_that_the_list_of_the_project_lacks_is_unknown(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "mlctl.yml").write_text("prices: mine.csv\n")
    (tmp_path / "mine.csv").write_text(MINE)
    (tmp_path / "cpu.yml").write_text(CLUSTER.format(region="eastus"))
    assert "no price known in eastus" in mlctl("plan", "cpu.yml").out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "`mine.csv` cannot be used as a price list: No such file"),
        (f"{MINE}a,eastus,1,2\n", "a in eastus costs more as Spot than dedicated"),
    ],
)
def test_a_price_list_that_is_none_is_an_error_at_its_place(
    mlctl: Run, tmp_path: Path, text: str | None, said: str
) -> None:
    (tmp_path / "mlctl.yml").write_text("prices: mine.csv\n")
    if text is not None:
        (tmp_path / "mine.csv").write_text(text)
    done = mlctl("catalog", "show")
    assert (done.code, said in done.err, "mlctl.yml:1:9" in done.err) == (2, True, True), done.err


def answering(monkeypatch: pytest.MonkeyPatch, answer: Any) -> list[Any]:
    """Let the service say `answer`; what it is asked."""
    asked: list[Any] = []

    def fetch(url: str, sizes: Any, regions: Any, today: date) -> Any:
        asked.append((url, [*sizes], [*regions]))
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(backends, "fetch_prices", fetch)
    return asked


DS3 = {("Standard_DS3_v2", "westeurope"): Price(0.4, 0.1)}


def test_refreshed_prices_lie_over_the_list_of_mlctl(
    mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answering(monkeypatch, DS3)
    done = mlctl("catalog", "refresh", "standard_ds3_V2", "--region", "West Europe")
    assert asked == [(retail.URL, ["standard_ds3_V2"], ["westeurope"])]
    assert "Wrote the prices of 1 size in 1 region" in done.out
    assert (tmp_path / ".cache" / "mlctl" / "prices.csv").exists()
    (tmp_path / "cpu.yml").write_text(CLUSTER.format(region="westeurope"))
    assert "Azure Retail Prices API" in mlctl("plan", "cpu.yml").out
    (tmp_path / "cpu.yml").write_text(CLUSTER.format(region="eastus"))
    assert "SkyPilot" in mlctl("plan", "cpu.yml").out


def test_refresh_asks_for_the_sizes_and_regions_of_the_files(
    mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpu.yml").write_text(CLUSTER.format(region="West Europe"))
    asked = answering(monkeypatch, DS3)
    monkeypatch.setenv("MLCTL_PRICES_URL", "https://127.0.0.1:1/x")
    assert mlctl("catalog", "refresh", "--out", "mine.csv").code == 0
    assert asked == [("https://127.0.0.1:1/x", ["Standard_DS3_v2"], ["westeurope"])]
    shown = mlctl("catalog", "show", "--price-file", "mine.csv", "-o", "json").json
    assert [(row["region"], row["spot"]) for row in shown] == [("westeurope", 0.1)]


def test_all_asks_for_every_size_and_no_region(mlctl: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answering(monkeypatch, DS3)
    done = mlctl("catalog", "refresh", "--all")
    assert (len(asked[0][1]), asked[0][2]) == (len(catalog.sizes()), [])
    assert "Azure says no price of" in done.err


@pytest.mark.parametrize("answer", [Transient("GarbledAnswer", "a page cannot be read"), {}])
def test_where_an_answer_fails_nothing_is_written(
    mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    (tmp_path / "mine.csv").write_text("as it was")
    answering(monkeypatch, answer)
    done = mlctl("catalog", "refresh", "Standard_DS3_v2", "--out", "mine.csv")
    assert (done.code, (tmp_path / "mine.csv").read_text()) == (1, "as it was")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--all", "Standard_DS3_v2"], "--all and SIZE exclude each other"),
        (["a' or 'b"], "is no name"),
        (["Standard_DS3_v2", "--region", "x/y"], "is no name"),
        ([], "no file here declares nodes"),
    ],
)
def test_what_cannot_be_asked_is_a_usage_error(mlctl: Run, arguments: list[str], why: str) -> None:
    done = mlctl("catalog", "refresh", *arguments)
    assert (done.code, why in done.err) == (2, True), done.err


def test_a_refreshed_list_that_is_broken_is_said_with_its_cure(mlctl: Run, tmp_path: Path) -> None:
    cache = tmp_path / ".cache" / "mlctl" / "prices.csv"
    cache.parent.mkdir(parents=True)
    cache.write_text("size\n")
    done = mlctl("catalog", "show")
    assert (done.code, "`mlctl catalog refresh` writes it again" in done.err) == (2, True)


def test_the_simulated_cloud_bills_by_the_list_of_the_project(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(f"{MINE}Standard_DS3_v2,eastus,100,50\n")
    (tmp_path / "mlctl.yml").write_text("prices: mine.csv\n")
    (tmp_path / "cpu.yml").write_text(
        CLUSTER.format(region="eastus") + "min_instances: 2\nidle_time_before_scale_down: 120\n"
    )
    assert mlctl("apply", "cpu.yml", "--yes").code == 0
    assert mlctl("local", "advance", "10h").code == 0
    row, _ = mlctl("local", "usage", "-o", "json").json
    assert row["cost"] == pytest.approx(row["node_hours"] * 50)
    assert row["node_hours"] > 10


@pytest.mark.slow
def test_refresh_asks_a_running_emulator_over_https(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlctl: Run
) -> None:
    pytest.importorskip("azure.core", reason="the azure extra is not installed")
    with serving(tmp_path, "--page-size", "3") as served:
        monkeypatch.setenv("MLCTL_PRICES_URL", f"{served.told['url']}/api/retail/prices")
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(served.told["ca_file"]))
        done = mlctl("catalog", "refresh", "Standard_DS3_v2", "--out", "mine.csv")
        assert done.code == 0, done.err
        fault = {"trouble": "truncate", "path": "/api/retail/*", "bytes": 20, "times": 9}
        assert served.ask("POST", "/mlctl/faults", fault)[0] == 201
        before = (tmp_path / "mine.csv").read_text()
        done = mlctl("catalog", "refresh", "Standard_B2s", "--out", "mine.csv")
        assert (done.code, (tmp_path / "mine.csv").read_text()) == (1, before)
    assert len(prices.read(tmp_path / "mine.csv").prices) == 9
