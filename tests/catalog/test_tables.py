"""The tables of dated facts: each has a day and a source, and what retires is found in lines."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

from mlctl import catalog
from mlctl.catalog.prices import header
from mlctl.catalog.tables import Table, every_table, retiring_features

FOLDER = Path(catalog.__file__).parent


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.csv")), ids=lambda file: file.name)
def test_every_table_has_a_day_and_a_source(file: Path) -> None:
    facts = header(file.read_text(encoding="utf-8"))
    assert facts.keys() == {"as_of", "source"}
    assert date.fromisoformat(facts["as_of"]) <= date(2026, 11, 23)


def test_facts_in_code_are_tables_too_the_oldest_first() -> None:
    tables = every_table()
    assert [table.as_of for table in tables] == sorted(table.as_of for table in tables)
    assert {"prices.csv", "retirements.csv", "features.csv"} < {table.name for table in tables}
    assert sum(table.name.startswith("catalog/limits.py") for table in tables) == 2


def test_what_is_older_than_half_a_year_is_old() -> None:
    table = Table("x", date(2026, 1, 1), "")
    assert not table.is_old(date(2026, 6, 30))
    assert table.is_old(date(2026, 7, 1))


LINES = {
    "low_priority": ["tier: low_priority", '"vmPriority": "LowPriority"'],
    "Python SDK v1": [
        "  - azureml-core==1.5",
        "from azureml.core import Run",
        "azureml-train-core",
    ],
    "CLI v1": ["az extension add -n azure-cli-ml", "az ml computetarget list"],
    "data drift": ["from azureml.datadrift import DataDriftDetector", "azureml-datadrift"],
    "data import": ["az ml data import -f x.yml"],
    "data labeling": ["workspaces/labelingJobs"],
    "batch endpoints of a preview version": ["batchEndpoints@2023-02-01-preview"],
    "Ubuntu 18.04": ["image: ubuntu:18.04", "openmpi4.1.0-ubuntu18.04"],
    "Ubuntu 20.04": ["FROM ubuntu:20.04", "AzureML-sklearn-1.0-ubuntu20.04-py38-cpu"],
    "Python 3.8": ["  - python=3.8", "python==3.8.10", "AzureML-sklearn-1.0-ubuntu20.04-py38-cpu"],
    "Python 3.10": ["- python=3.10"],
}
NOTHING = (
    *("tier: dedicated", "  - azureml-mlflow", "from azure.ai.ml import MLClient", "python=3.12"),
    *("az ml job create", "ipython=3.8", "batchEndpoints@2024-04-01", "image: ubuntu:22.04"),
    *("azureml-inference-server-http", "- python=3.80", "import azureml_core"),
)


def names(line: str) -> set[str]:
    return {
        feature.name
        for feature in retiring_features()
        if re.search(feature.pattern, line, re.IGNORECASE)
    }


@pytest.mark.parametrize(("name", "lines"), LINES.items(), ids=lambda part: str(part)[:30])
def test_what_retires_is_found_in_a_line(name: str, lines: list[str]) -> None:
    assert [line for line in lines if name not in names(line)] == []


@pytest.mark.parametrize("line", NOTHING)
def test_what_does_not_retire_is_not_found(line: str) -> None:
    assert names(line) == set()
