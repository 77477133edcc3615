"""What a forecast is about where files do not say all of it, from the shell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.builders.forecasts import forecast, weather
from tests.builders.shell import Run

WORK = ("--files", "100", "--seconds-per-file", "8", "--runs", "20")
NAME = "heart-classifier-batch/classifier-xgboost"


@pytest.fixture
def applied(mlctl: Run, sample: Path) -> Path:
    """The sample, which the local cloud has too."""
    done = mlctl("apply", sample, "--yes")
    assert done.code == 0, done.err
    return sample


def origins(data: Any) -> dict[str, str]:
    found = (one for one in data["assumptions"] if one["name"] in ("deployment", "cluster"))
    return {one["name"]: f"{one['source']} {one['why']}" for one in found}


LIVE = "W as it is in local/local (local backend)"


def test_a_forecast_of_what_is_live_is_that_of_its_files(mlctl: Run, applied: Path) -> None:
    by_files = mlctl("simulate", applied, *WORK, "-o", "json").json
    endpoint = NAME.partition("/")[0]
    for text in (None, NAME, f"batch-deployment/{NAME}", endpoint):
        named = () if text is None else ("--deployment", text)
        live = mlctl("simulate", *named, *WORK, "-o", "json").json
        assert live["rows"] == by_files["rows"]
        assert origins(live) == {"deployment": LIVE, "cluster": LIVE}
    assert origins(by_files)["cluster"] == f"F as in {applied}/low-pri-cluster.yml"


def test_a_cluster_that_only_the_workspace_has_is_read_there(mlctl: Run, applied: Path) -> None:
    told = mlctl("simulate", applied / "deployment.yml", *WORK, "-o", "json")
    assert origins(told.json) == {
        "deployment": f"F as in {applied}/deployment.yml",
        "cluster": LIVE,
    }
    assert "workspace local/local" in told.err


def test_files_count_before_the_workspace(mlctl: Run, applied: Path) -> None:
    file = applied / "low-pri-cluster.yml"
    file.write_text(file.read_text().replace("max_instances: 2", "max_instances: 1"))
    told = mlctl("simulate", file, "--deployment", NAME, *WORK, "-o", "json").json
    assert told["scenario"]["nodes"] == 1
    assert origins(told)["deployment"] == LIVE


def test_files_that_say_all_ask_no_workspace(mlctl: Run, sample: Path) -> None:
    assert mlctl("simulate", sample, *WORK, "--backend", "azure").code == 0
    assert not Path(".mlctl").exists()


def test_overrides_change_what_is_live_too(mlctl: Run, applied: Path) -> None:
    nodes = ("--override", "compute.max_instances=1")
    assert mlctl("simulate", *nodes, *WORK, "-o", "json").json["scenario"]["nodes"] == 1
    wrong = mlctl("simulate", "--override", "compute.max=1", *WORK)
    assert (wrong.code, "--override" in wrong.err) == (1, True)
    assert wrong.out == ""


def test_advice_about_what_is_live_writes_no_file(mlctl: Run, applied: Path) -> None:
    storm = weather(shocks={"per_hour": 1, "fraction": 1})
    flags = ("--files", "2000", "--seconds-per-file", "8", "--vary", "max_instances=8")
    before = sorted(Path().rglob("*"))
    done = mlctl("advise", *flags, "--weather", storm, "--runs", "50", "--patch")
    assert done.code == 0, done.err
    assert "max_instances is unchanged: no file sets it" in done.err
    assert sorted(Path().rglob("*")) == before


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--deployment", "a/b"), "no deployment batch-deployment/a/b is in the files or the"),
        (("--deployment", "a/b"), f"there is batch-deployment/{NAME}"),
        (("--deployment", "a"), "there is no endpoint `a`"),
        (("--deployment", "a/"), "`a/` is not a deployment: write ENDPOINT/NAME"),
        (("--seconds-per-file", "1000"), f"batch-deployment/{NAME} in the workspace: a mini-batch"),
        (("--override", "compute.size=Standard_Q"), "the price of `Standard_Q` is unknown"),
    ],
)
def test_what_is_not_live_is_said(
    mlctl: Run, applied: Path, flags: tuple[str, ...], why: str
) -> None:
    done = mlctl("simulate", *WORK, *flags)
    assert (done.code, why in done.err, "Traceback" in done.err) == (1, True, False), done.err


def test_an_endpoint_stands_for_the_deployment_that_it_uses_by_default(
    mlctl: Run, applied: Path
) -> None:
    endpoint = NAME.partition("/")[0]
    other = (applied / "deployment.yml").read_text().replace("classifier-xgboost", "other")
    (applied / "other.yml").write_text(other.replace("instance_count: 2", "instance_count: 1"))
    assert mlctl("apply", applied / "other.yml", "--yes").code == 0
    flags = ("--deployment", endpoint, *WORK, "-o", "json")
    assert mlctl("simulate", *flags).json["scenario"]["nodes"] == 2
    mlctl("batch-endpoint", "update", "-n", endpoint, "--set", "defaults.deployment_name=other")
    assert mlctl("simulate", *flags).json["scenario"]["nodes"] == 1
    assert mlctl("simulate", applied, *flags).json["scenario"]["nodes"] == 2  # as files say
    mlctl("batch-endpoint", "create", "-n", "bare")
    done = mlctl("simulate", "--deployment", "bare", *WORK)
    assert (done.code, "endpoint `bare` has no default deployment" in done.err) == (1, True)


def test_an_empty_workspace_has_nothing_to_forecast(mlctl: Run) -> None:
    done = mlctl("simulate", *WORK)
    assert done.code == 1
    assert "no deployment that scores mini-batches is in the files or the workspace" in done.err


def test_several_deployments_have_to_be_told_apart(mlctl: Run, applied: Path) -> None:
    text = (applied / "deployment.yml").read_text().replace("classifier-xgboost", "other")
    (applied / "other.yml").write_text(text)
    assert mlctl("apply", applied / "other.yml", "--yes").code == 0
    done = mlctl("simulate", *WORK)
    assert "there are 2 deployments" in done.err
    assert "choose one with --deployment" in done.err
    assert forecast(mlctl, applied / "other.yml", *WORK)


@pytest.mark.parametrize("command", ["simulate", "advise"])
def test_that_low_priority_is_spot_is_said_once(mlctl: Run, sample: Path, command: str) -> None:
    told = mlctl(command, sample, *WORK).err
    assert told.count("low-priority nodes have been Spot VMs since 2026-03-31") == 1
    assert "MLC422" not in mlctl(command, sample, *WORK, "--ignore", "MLC422").err
