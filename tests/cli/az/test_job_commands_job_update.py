"""`mlctl job update` and `job validate`: a submitted job described anew, and one not submitted."""

from __future__ import annotations

import pytest

from tests.builders.paths import SAMPLES
from tests.builders.shell import Run

JOB = SAMPLES / "training" / "job.yml"
RENAMED = ("display_name=Nightly fit", "description=of the night", "tags.team=ds")


@pytest.fixture
def fit(mlctl: Run) -> Run:
    """A workspace with the job `fit`."""
    mlctl("apply", SAMPLES / "training" / "cluster.yml", "--yes")
    assert mlctl("job", "create", "-f", JOB, "-n", "fit").code == 0
    return mlctl


def test_the_names_and_tags_of_a_job_change_and_the_rest_stays(fit: Run) -> None:
    before = fit("job", "show", "-n", "fit").json
    after = fit("job", "update", "-n", "fit", "--set", *RENAMED).json
    changed = {"display_name": "Nightly fit", "description": "of the night"}
    assert after == {**before, **changed, "tags": {**before.get("tags", {}), "team": "ds"}}
    assert fit("job", "show", "-n", "fit").json == after


def test_a_tag_of_a_job_is_removed(fit: Run) -> None:
    fit("job", "update", "-n", "fit", "--set", "tags.team=ds", "tags.stage=dev")
    after = fit("job", "update", "-n", "fit", "--remove", "tags.team").json
    assert "team" not in after["tags"]
    assert after["tags"]["stage"] == "dev"


def test_a_job_stays_in_its_experiment_and_says_so(fit: Run) -> None:
    before = fit("job", "show", "-n", "fit").json["experiment_name"]
    updated = fit("job", "update", "-n", "fit", "--set", "experiment_name=other")
    assert updated.code == 0
    assert "stays in the experiment" in updated.err
    assert updated.json["experiment_name"] == before


@pytest.mark.parametrize(
    "edit", ["command=rm", "tags.a.b=1", "tags=3", 'tags={"a":1}', "status=Completed"]
)
def test_what_a_job_runs_and_what_is_no_tag_is_refused(fit: Run, edit: str) -> None:
    before = fit("job", "show", "-n", "fit").json
    updated = fit("job", "update", "-n", "fit", "--set", edit)
    assert updated.code in (1, 2)
    assert "Traceback" not in updated.err
    assert fit("job", "show", "-n", "fit").json == before


def test_a_job_that_does_not_exist_cannot_be_updated(mlctl: Run) -> None:
    assert mlctl("job", "update", "-n", "none", "--set", "display_name=x").code == 3


def test_a_validated_job_is_not_submitted(mlctl: Run) -> None:
    validated = mlctl("job", "validate", "-f", JOB, "--set", "compute=azureml:other")
    assert validated.json == {"result": "Succeeded"}
    assert mlctl("job", "list").json == []


def test_the_errors_of_a_validated_job_have_their_place(mlctl: Run) -> None:
    validated = mlctl("job", "validate", "-f", JOB, "--set", "inputs=3", "-o", "none")
    assert (validated.code, validated.out) == (1, "")
    assert "<command line>:1:7" in validated.err
