"""What workers report becomes the outcome: also when too much of the input has failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mlctl.rehearsal.inputs import Inputs
from mlctl.rehearsal.scoring.deployment import Deployment
from mlctl.rehearsal.scoring.outcome import Record, RehearsalOutcome, Status

FAILED = {"failed": {"type": "OSError", "message": "", "place": None, "text": ""}}


def record(threshold: int, tries: int = 1) -> Record:
    """Of a job with two mini-batches of two files each."""
    here = Path()
    names = ("a", "b", "c", "d")
    deployment = Deployment(here / "s.py", here, error_threshold=threshold, tries=tries)
    outcome = RehearsalOutcome(here, here, here)
    mini_batches = (names[:2], names[2:])
    return Record(outcome, deployment, Inputs(here, names), mini_batches, lambda _: None)


def scored(rows: int) -> dict[str, Any]:
    """What a worker reports of a mini-batch of which `run` returned so many rows."""
    measures: dict[str, Any] = {"seconds": 1.0, "events": 1, "memory": None, "stand_ins": []}
    returned = {"rows": ["x"] * rows, "length": rows, "kind": "list", "returned": None}
    return {**measures, **returned, "caught": []}


@pytest.mark.parametrize(
    ("threshold", "rows", "status"),
    [
        (-1, (0, 0), Status.COMPLETED),  # any number may fail
        (0, (2, 2), Status.COMPLETED),
        (0, (2, 1), Status.FAILED),
        (1, (2, 1), Status.COMPLETED),  # as many as the threshold are allowed
        (1, (1, 1), Status.FAILED),
        (2, (1, 1), Status.COMPLETED),
        (3, (0, 0), Status.FAILED),
        (4, (0, 0), Status.COMPLETED),
    ],
)
def test_a_job_fails_once_more_inputs_are_not_scored_than_its_threshold(
    threshold: int, rows: tuple[int, int], status: Status
) -> None:
    job = record(threshold)
    for mini_batch, count in enumerate(rows):
        job.add_score(mini_batch, scored(count), "1-1/1")
    assert job.outcome.status is status


@pytest.mark.parametrize(
    ("threshold", "status"), [(1, Status.FAILED), (2, Status.COMPLETED), (-1, Status.COMPLETED)]
)
def test_the_inputs_of_a_mini_batch_count_when_its_last_try_has_failed(
    threshold: int, status: Status
) -> None:
    job = record(threshold, tries=2)
    for attempt in (1, 2):
        job.attempts[0] = attempt
        assert job.outcome.status is Status.COMPLETED
        job.add_failure(0, FAILED)
    assert (job.outcome.failed, job.outcome.status) == ({0}, status)
