"""A job that the service does not show: it may be new, or gone."""

from __future__ import annotations

from itertools import chain, repeat
from typing import Any

import pytest

from mlctl.finishing.cloud import WorkspaceCloud
from mlctl.finishing.progress import RunState


class Service:
    """An Azure of which only the time passes."""

    simulated = False

    def __init__(self) -> None:
        self.seconds = 0.0

    def wait(self, seconds: float) -> None:
        self.seconds += seconds


@pytest.mark.parametrize(("polls", "status"), [(10, "Completed"), (11, "Failed")])
def test_a_job_that_is_missing_for_more_than_ten_polls_is_gone(polls: int, status: str) -> None:
    service: Any = Service()
    states = chain(repeat(None, polls), repeat(RunState("Completed")))

    class Cloud(WorkspaceCloud):
        def find(self, run: str) -> RunState | None:
            return next(states)

    cloud = Cloud(service, service, wall=lambda: service.seconds)
    assert cloud.watch("run", 1e6).status == status
