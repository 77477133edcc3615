"""`mlctl retirements`: what files and workspaces use that is retired, or will be."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

from mlctl.catalog import tables
from mlctl.cli.shell.session import Session
from tests.builders.shell import Run

CLUSTER = "type: amlcompute\nsize: Standard_NC6s_v3  # old\ntier: low_priority\n"


@pytest.fixture(autouse=True)
def _today(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the real date is, it is this one here."""
    monkeypatch.setattr(Session, "today", date(2026, 11, 23))


def test_what_is_retired_is_told_with_place_successor_and_source(
    mlctl: Run, tmp_path: Path
) -> None:
    (tmp_path / "gpu.yml").write_text(CLUSTER)
    done = mlctl("retirements")
    assert "Standard_NC6s_v3 (size) retired on 2025-09-30\n  gpu.yml:2:7" in done.out
    assert "instead: Standard_NC24ads_A100_v4\n  source: MicrosoftDocs" in done.out
    assert "low_priority (tier) retired on 2026-03-31\n  gpu.yml:3:1" in done.out
    assert done.out.rstrip().endswith("2 retirements in 2 places.")


@pytest.mark.parametrize(
    ("flags", "sizes"),
    [
        ((), []),
        (("--within", "530d"), ["Standard_D2_v2"]),
        (("--within", "2y"), None),
        (("--within", "800d"), ["Standard_D2_v2", "Standard_F4s_v2"]),
    ],
)
def test_what_is_shown_retires_within_the_time(
    mlctl: Run, tmp_path: Path, flags: tuple[str, ...], sizes: list[str] | None
) -> None:
    (tmp_path / "a.yml").write_text("size: Standard_D2_v2\nother: Standard_F4s_v2\n")
    done = mlctl("retirements", *flags, "-o", "json")
    if sizes is None:
        assert (done.code, "is no time ahead" in done.err) == (2, True)
    else:
        assert [entry["name"] for entry in done.json["retirements"]] == sizes


def test_a_pipeline_fails_where_something_retires_within_the_time(
    mlctl: Run, tmp_path: Path
) -> None:
    (tmp_path / "a.yml").write_text("size: Standard_D2_v2\n")
    assert mlctl("retirements", "--fail-within", "90d").code == 0
    assert mlctl("retirements", "--fail-within", "600d").code == 1


def test_comments_waivers_and_hidden_folders_are_passed_over(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text("# tier: low_priority\nx: 1  # python=3.6\n")
    (tmp_path / "b.yml").write_text("tier: low_priority  # mlctl:ignore=retirement\n")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "c.yml").write_text("tier: low_priority\n")
    (tmp_path / "model.bin").write_text("tier: low_priority\n")
    assert mlctl("retirements").out == "0 retirements in 0 places.\n"


def test_conda_files_code_images_and_notebooks_are_read(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "conda.yml").write_text("dependencies:\n  - python=3.8\n")
    (tmp_path / "train.py").write_text("from azureml.core import Run\n")
    (tmp_path / "Dockerfile").write_text("FROM ubuntu:18.04\n")
    (tmp_path / "old.ipynb").write_text('{"source": ["import azureml.train\\n"]}')
    entries = mlctl("retirements", "-o", "json").json["retirements"]
    assert [(entry["name"], entry["file"], entry["line"]) for entry in entries] == [
        ("Ubuntu 18.04", "Dockerfile", 1),
        ("Python 3.8", "conda.yml", 2),
        ("Python SDK v1", "old.ipynb", 1),
        ("Python SDK v1", "train.py", 1),
    ]


def test_sarif_has_an_error_where_the_pipeline_fails(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "gpu.yml").write_text(CLUSTER)
    done = mlctl("retirements", "--fail-within", "0d", "-o", "sarif")
    (run,) = done.json["runs"]
    assert (done.code, {result["level"] for result in run["results"]}) == (1, {"error"})


def test_what_the_workspace_has_is_looked_through(applied: Run) -> None:
    entries = applied("retirements", "--live", "-o", "json").json["retirements"]
    assert [(entry["name"], entry["address"]) for entry in entries] == [
        ("low_priority", "compute/low-pri-cluster")
    ]


@pytest.mark.parametrize("words", [("nowhere",), ("--live", "."), ("--within", "soon")])
def test_what_cannot_be_looked_through_is_a_usage_error(mlctl: Run, words: list[str]) -> None:
    assert mlctl("retirements", *words).code == 2


def test_a_plan_with_old_prices_has_one_note(mlctl: Run, sample: Path, tmp_path: Path) -> None:
    note = "note: facts of this plan are older than 180 days: the prices, 2024-08-26; "
    assert mlctl("plan", sample).err.count(note) == 1
    head = "# source: mine\n# as_of: 2026-11-01\nsize,region,dedicated,spot\n"
    (tmp_path / "new.csv").write_text(head)
    assert "the prices are those" not in mlctl("plan", sample, "--price-file", "new.csv").err
    (tmp_path / "empty").mkdir()
    assert note not in mlctl("plan", "empty").err


COMPONENT = """$schema: https://azuremlschemas.azureedge.net/latest/commandComponent.schema.json
name: greet
version: 1
command: echo hello
environment: azureml://registries/azureml/environments/sklearn-1.5/labels/latest
"""
SCHEDULE = """$schema: https://azuremlschemas.azureedge.net/latest/schedule.schema.json
name: nightly
trigger: {type: cron, expression: "0 5 * * *", time_zone: "W. Europe Standard Time"}
create_job: {type: command, command: ls, environment: azureml:e:1, compute: azureml:cpu}
"""


@pytest.mark.parametrize(
    ("text", "table"), [(COMPONENT, "assets of registries"), (SCHEDULE, "time zones")]
)
def test_a_note_names_each_old_table_that_a_plan_used(
    mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, table: str
) -> None:
    monkeypatch.setattr(tables, "OLD_DAYS", -10_000)
    (tmp_path / "used.yml").write_text(text)
    (note,) = re.findall("note: facts of this plan .*", mlctl("plan", "used.yml").err)
    assert (table in note, "prices" in note.partition("`")[0]) == (True, False)


def test_the_version_of_the_api_is_a_fact_of_a_plan_on_azure() -> None:
    (table,) = tables.used_for("azure")
    assert (table.name, table.as_of) == ("the API version", date(2026, 2, 1))


def test_doctor_names_the_oldest_table(mlctl: Run) -> None:
    checks = {check["name"]: check for check in mlctl("doctor", "-o", "json").json["checks"]}
    assert checks["facts"]["verdict"] == "info"
    assert "the oldest is catalog/limits.py" in checks["facts"]["found"]


def test_azure_china_has_no_spot(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "cn.yml").write_text(
        "$schema: https://azuremlschemas.azureedge.net/latest/amlCompute.schema.json\n"
        "name: cpu\ntype: amlcompute\nsize: Standard_D4ds_v5\ntier: low_priority\n"
        "max_instances: 2\nlocation: China North 3\n"
    )
    out = mlctl("validate", "cn.yml").out
    assert "there are no low-priority nodes in chinanorth3, which has no Spot VMs" in out
    assert "hint: write `tier: dedicated`" in out
