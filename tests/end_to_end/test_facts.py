"""`make facts`: tables are checked, and prices asked anew."""

from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench import facts
from mlctl import backends
from mlctl.catalog import prices
from mlctl.catalog.prices import Price
from tests.builders.paths import ROOT


def test_the_tables_have_the_form_that_they_should() -> None:
    assert [*facts.errors()] == []
    assert facts.main(["--offline"]) == 0


def test_prices_that_are_asked_anew_are_a_diff_and_a_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "prices.csv"
    shutil.copy(facts.FOLDER / "prices.csv", file)

    def fetch(url: str, sizes: Any, regions: Any, today: date) -> Any:
        return {("Standard_DS3_v2", "eastus"): Price(0.3, 0.1)} if len(regions) == 9 else {}

    monkeypatch.setattr(backends, "fetch_prices", fetch)
    assert "+Standard_DS3_v2,eastus,0.3,0.1" in facts.refresh_prices(file)
    assert prices.read(file).price("Standard_DS3_v2", "eastus") == Price(0.3, 0.1)


def test_where_no_price_comes_back_the_list_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "prices.csv"
    shutil.copy(facts.FOLDER / "prices.csv", file)
    monkeypatch.setattr(backends, "fetch_prices", lambda *_: {})
    assert "stays" in facts.refresh_prices(file)
    assert file.read_text() == (facts.FOLDER / "prices.csv").read_text()


def test_the_scheduled_workflow_runs_commands_that_there_are() -> None:
    workflow = yaml.safe_load((ROOT / "samples" / "ci" / "facts.yml").read_text())
    steps = workflow["jobs"]["facts"]["steps"]
    lines = [step["run"] for step in steps if "run" in step]
    assert "mlctl catalog refresh --out prices.csv" in lines
    assert any("mlctl retirements infra --within 180d" in line for line in lines)
