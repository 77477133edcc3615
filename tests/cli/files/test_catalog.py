"""`mlctl catalog show`, and the price list of a project."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from mlctl import backends, catalog
from mlctl.catalog import prices, retail
from mlctl.catalog.prices import Price
from mlctl.service_errors import Permanent, Transient
from tests.builders.azure import led
from tests.builders.served import serving
from tests.builders.shell import Run

REGIONS = ("eastus", "westeurope", "westus3")
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
    priced = {"size": "Standard_B2s", "region": "eastus", "dedicated": 0.0416, "spot": None}
    assert row == {**priced, "eviction_rate": None}


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


RATED = {("standard_ds3_v2", "westeurope"): Price(None, 0.2, "5-10")}


@pytest.mark.parametrize(
    ("retail_price", "spot", "dedicated"),
    [(Price(0.4, 0.1), 0.1, 0.4), (Price(0.4), 0.2, 0.4), (Price(0.15), None, 0.15)],
    ids=["both say a price", "one alone", "one above dedicated"],
)
def test_on_azure_eviction_rates_are_asked_too(
    mlctl: Run, monkeypatch: pytest.MonkeyPatch, retail_price: Price, spot: Any, dedicated: float
) -> None:
    answering(monkeypatch, {("Standard_DS3_v2", "westeurope"): retail_price})
    monkeypatch.setattr(backends, "fetch_spot_tables", lambda *_: RATED)
    refresh = ("catalog", "refresh", "Standard_DS3_v2", "--out", "mine.csv")
    done = mlctl(*refresh, "--backend", "azure")
    assert (done.code, "is not asked" in done.err) == (0, False), done.err
    (row,) = (done := mlctl("catalog", "show", "--price-file", "mine.csv", "-o", "json")).json
    assert (row["dedicated"], row["spot"], row["eviction_rate"]) == (dedicated, spot, "5-10")
    assert "Azure Retail Prices API and Azure Resource Graph" in done.err


def test_who_is_not_logged_in_gets_retail_prices_and_is_told(
    mlctl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, DS3)

    def refuse(*_: Any) -> Any:
        raise Permanent("NoCredentials", "az login comes first", status=401)

    monkeypatch.setattr(backends, "fetch_spot_tables", refuse)
    refresh = ("catalog", "refresh", "Standard_DS3_v2", "--out", "mine.csv")
    for more, why in (((), "it needs the azure backend"), (("--backend", "azure"), "az login")):
        done = mlctl(*refresh, *more)
        assert (done.code, done.err.count("Azure Resource Graph"), why in done.err) == (0, 1, True)
    assert "eviction_rate" not in Path("mine.csv").read_text()


def test_rates_that_cannot_be_read_write_nothing(
    mlctl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, DS3)

    def garbled(*_: Any) -> Any:
        raise Transient("GarbledAnswer", "a page cannot be read")

    monkeypatch.setattr(backends, "fetch_spot_tables", garbled)
    done = mlctl("catalog", "refresh", "Standard_DS3_v2", "--out", "x.csv", "--backend", "azure")
    assert (done.code, Path("x.csv").exists()) == (1, False)


def test_a_list_may_have_eviction_rates_of_azures_bands(mlctl: Run, tmp_path: Path) -> None:
    text = MINE.replace("spot", "spot,eviction_rate")
    (tmp_path / "mine.csv").write_text(f"{text}Standard_DS3_v2,eastus,1,0.5,20+\n")
    (row,) = mlctl("catalog", "show", "--price-file", "mine.csv", "-o", "json").json
    assert row["eviction_rate"] == "20+"
    (tmp_path / "mine.csv").write_text(f"{text}Standard_DS3_v2,eastus,1,0.5,30\n")
    done = mlctl("catalog", "show", "--price-file", "mine.csv")
    assert (done.code, "`30` is not one of 0-5, 5-10" in done.err) == (2, True)


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
    text = MINE.replace("spot", "spot,eviction_rate")
    rows = "".join(f"Standard_DS3_v2,{region},1,0.5,5-10\n" for region in REGIONS)
    (tmp_path / "rated.csv").write_text(f"{text}{rows}Standard_B2s,eastus,1,,\n")
    with serving(tmp_path, "--page-size", "2", "--price-file", "rated.csv") as served:
        led(served, monkeypatch)
        monkeypatch.setenv("MLCTL_PRICES_URL", f"{served.told['url']}/api/retail/prices")
        refresh = ("--backend", "azure", "catalog", "refresh", "--out", "mine.csv")
        done = mlctl(*refresh, "Standard_DS3_v2")
        assert (done.code, "is not asked" in done.err) == (0, False), done.err
        shown = mlctl("catalog", "show", "--price-file", "mine.csv", "-o", "json").json
        assert {row["region"]: row["eviction_rate"] for row in shown} == dict.fromkeys(
            REGIONS, "5-10"
        )
        broken = {"trouble": "truncate", "path": "/providers/*", "bytes": 20, "times": 9}
        assert served.ask("POST", "/mlctl/faults", broken)[0] == 201
        before = (tmp_path / "mine.csv").read_text()
        done = mlctl(*refresh, "Standard_DS3_v2")
        assert (done.code, (tmp_path / "mine.csv").read_text()) == (1, before), done.err
        assert served.ask("DELETE", "/mlctl/faults")[0] in (200, 204)
        fault = {"trouble": "truncate", "path": "/api/retail/*", "bytes": 20, "times": 9}
        assert served.ask("POST", "/mlctl/faults", fault)[0] == 201
        done = mlctl("catalog", "refresh", "Standard_B2s", "--out", "mine.csv")
        assert (done.code, (tmp_path / "mine.csv").read_text()) == (1, before)
    assert len(prices.read(tmp_path / "mine.csv").prices) == len(REGIONS)
