"""An apply that does not wait: it ends once its last writes are accepted."""

from __future__ import annotations

import threading

from mlctl.applying.events import StepState
from mlctl.applying.executor import apply
from mlctl.backends.ports.backend import Backend
from mlctl.kinds.address import Address
from mlctl.kinds.values import state
from tests.builders.plans import plan, workspace
from tests.builders.resources import CLUSTER

SIZE = "size: Standard_D4ds_v5\n"


def unwaited(text: str, backend: Backend) -> dict[str, bool]:
    """Whether each step was waited for."""
    work = plan(text, backend=backend).work
    events = apply(work, backend, parallelism=2, stop=threading.Event(), wait=False)
    ended = [one for one in events if one.state in (StepState.DONE, StepState.FAILED)]
    assert [one.error for one in ended] == [None] * len(ended)
    return {one.step.role.value: one.waited for one in ended}


def test_a_write_that_no_other_needs_is_not_waited_for() -> None:
    backend = workspace()
    assert unwaited(CLUSTER, backend) == {"create": False}
    address = Address("compute", "cpu-cluster")
    assert state(backend.read([address])[address].body) == "creating"


def test_what_another_write_needs_is_waited_for() -> None:
    backend = workspace(CLUSTER)
    assert unwaited(CLUSTER + SIZE, backend) == {"delete": True, "create": False}


def test_what_is_there_already_is_not_written() -> None:
    assert unwaited(CLUSTER, workspace(CLUSTER)) == {}
