"""`mlctl catalog show`, and the price list of a project."""

from __future__ import annotations

from pathlib import Path

import pytest

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
