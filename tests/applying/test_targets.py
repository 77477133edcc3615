"""Live targets beside the bodies that were written."""

from __future__ import annotations

from mlctl.applying.targets import mismatches_of
from mlctl.backends.ports.backend import Live
from mlctl.kinds.address import Address
from mlctl.planning.steps.work import PlanStep, StepRole
from mlctl.pointer import Data
from tests.builders.workspace import SCOPE

MODEL = Address("model", "heart", version="1")


def body(pickled: Data) -> dict[str, Data]:
    return {"properties": {"flavors": {"sklearn": {"data": {"pickled": pickled}}}}}


def test_a_target_that_is_spelt_as_it_was_written_has_no_mismatch() -> None:
    step = PlanStep(0, MODEL, StepRole.CREATE, MODEL, body=body(True))
    assert mismatches_of(step, Live(MODEL, body(True)), SCOPE) == []


def test_a_number_in_place_of_a_truth_value_is_a_mismatch_at_any_depth() -> None:
    step = PlanStep(0, MODEL, StepRole.CREATE, MODEL, body=body(True))
    for written in (None, body(True)):
        (mismatch,) = mismatches_of(step, Live(MODEL, body(1)), SCOPE, written)
        assert mismatch.at == ("flavors",)
