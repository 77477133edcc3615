"""Filters of MLflow's search of runs."""

from __future__ import annotations

import time

import pytest

from mlctl.emulator.mlflow import runs
from mlctl.emulator.mlflow.runs import TrackedRun
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane.jobs.mlflow_store import MetricValue


def run_with(**tags: str) -> TrackedRun:
    """A run with tags and a loss of 0.25."""
    return TrackedRun("r1", {"start_time": 5}, {"rate": "0.1"}, tags, (LOSS,))


LOSS = MetricValue("loss", 0.25, 0, 1)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("metrics.loss < 0.3 and params.rate = '0.1'", True),
        ("metrics.loss < 0.2", False),
        ("tags.name LIKE 'a%c'", True),
        ("tags.name LIKE 'a_c and d%'", True),
        ("tags.name like '%B%'", False),
        ("tags.name ilike '%B%'", True),
        ("tags.name like 'abc'", False),
        ("tags.name like '%and d and c'", True),
        ("tags.name like '%d%d%d%d%'", False),
        ("attributes.start_time >= 5", True),
    ],
)
def test_a_filter_takes_the_runs_that_it_is_true_of(text: str, matches: bool) -> None:
    assert runs.matching(text)(run_with(name="abc and d and c")) is matches


@pytest.mark.parametrize("text", ["loss", "metrics.loss < a", "metrics.loss < 1 and", "a" * 10_000])
def test_what_is_no_filter_is_one_sentence(text: str) -> None:
    with pytest.raises(Permanent, match="is no filter"):
        runs.matching(text)


def test_a_form_of_many_parts_takes_no_long_time() -> None:
    filter_ = runs.matching(f"tags.name like '{'%a' * 60}b'")
    began = time.process_time()
    assert not filter_(run_with(name="a" * 3000))
    assert time.process_time() - began < 1
