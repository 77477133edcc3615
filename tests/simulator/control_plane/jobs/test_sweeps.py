"""Sweep jobs of a simulated workspace."""

from __future__ import annotations

from typing import Any

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane.jobs import creation, job_events, records
from mlctl.simulator.control_plane.jobs.records import JobRecord
from mlctl.simulator.control_plane.jobs.workloads import JobRequest

SPACE: dict[str, Any] = {
    "lr": ["uniform", [0.1, 0.5]],
    "depth": ["choice", [[2, 4, 8]]],
    "units": ["quniform", [10, 20, 5]],
    "scale": ["loguniform", [-1, 1]],
    "seed": ["randint", [7]],
    "noise": ["normal", [0, 1]],
}


def create(local: LocalBackend, limits: Any = None, space: Any = None, **more: Any) -> JobRecord:
    given = {"maxTotalTrials": 6, "maxConcurrentTrials": 2} if limits is None else limits
    trial = {"command": "x", "environmentId": "azureml://registries/r/environments/e/versions/1"}
    properties = {
        "jobType": "Sweep",
        "searchSpace": SPACE if space is None else space,
        "samplingAlgorithm": {"samplingAlgorithmType": "Random"},
        "limits": given,
        "trial": trial,
        **more,
    }
    return creation.create(local.handle, JobRequest("tune", properties))


def ended(local: LocalBackend, made: JobRecord) -> JobRecord:
    *_, last = job_events.follow(local.handle, made.row.name, 1e8, detail=False)
    return last.record


def parameters(local: LocalBackend) -> list[dict[str, Any]]:
    return [each.row.note["parameters"] for each in records.children(local.handle, "tune")]


def test_trials_have_parameters_of_the_space_and_the_same_ones_for_a_seed(
    local: LocalBackend,
) -> None:
    create(local)
    found = parameters(local)
    assert len(found) == 6
    for one in found:
        assert 0.1 <= one["lr"] <= 0.5
        assert one["depth"] in (2, 4, 8)
        assert one["units"] in (10, 15, 20)
        assert 0.36 < one["scale"] < 2.72
        assert one["seed"] in range(7)
    again = LocalBackend(":memory:", local.handle.scope)
    create(again)
    assert parameters(again) == found
    again.close()


def test_a_grid_is_tried_once_each(local: LocalBackend) -> None:
    space = {"a": ["choice", [[1, 2]]], "b": ["choice", [["x", "y", "z"]]]}
    create(local, {}, space, samplingAlgorithm={"samplingAlgorithmType": "Grid"})
    assert len(parameters(local)) == 6
    assert len({tuple(one.items()) for one in parameters(local)}) == 6


def test_no_more_trials_run_at_once_than_may(local: LocalBackend) -> None:
    # Each trial on its own serverless node: 240 s to get it, 600 s to run; three rounds of two.
    assert ended(local, create(local)).view.makespan_s == 3 * (240 + 600)


def test_a_sweep_whose_time_is_over_is_cancelled_with_its_trials(local: LocalBackend) -> None:
    made = create(local, {"maxTotalTrials": 4, "maxConcurrentTrials": 1, "timeout": "PT30M"})
    view = ended(local, made).view
    assert (view.status.value, view.makespan_s) == ("Canceled", 1800)
    statuses = [each.view.status.value for each in records.children(local.handle, "tune")]
    assert statuses == ["Completed", "Completed", "Canceled", "Canceled"]


def test_a_policy_stops_its_share_of_the_trials_early(local: LocalBackend) -> None:
    policy = {
        "policyType": "TruncationSelection",
        "truncationPercentage": 100,
        "evaluationInterval": 2,
        "delayEvaluation": 3,
    }
    made = create(local, earlyTermination=policy)
    assert ended(local, made).view.makespan_s == 3 * (240 + 5 * 60)


@pytest.mark.parametrize(
    ("space", "limits"),
    [
        ({}, None),
        ({"a": ["gauss", [1]]}, None),
        ({"a": ["choice", [[]]]}, None),
        ({"a": ["uniform", [1]]}, None),
        (None, {"maxTotalTrials": 0}),
        (None, {"timeout": "soon"}),
    ],
)
def test_a_sweep_that_cannot_be_is_refused(local: LocalBackend, space: Any, limits: Any) -> None:
    with pytest.raises(Permanent):
        create(local, limits, space)
    assert records.list_jobs(local.handle) == []


def test_a_grid_of_anything_but_choices_is_refused(local: LocalBackend) -> None:
    with pytest.raises(Permanent, match=r"Grid sampling takes choices: .* `a` is `uniform`"):
        create(
            local,
            space={"a": ["uniform", [0, 1]]},
            samplingAlgorithm={"samplingAlgorithmType": "Grid"},
        )
