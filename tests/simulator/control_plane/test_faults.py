"""Faults: what they match, and how often they apply."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl.simulator.control_plane import faults
from mlctl.simulator.control_plane.faults import CallFault, FaultKind


@pytest.mark.parametrize(
    ("target", "address"),
    [
        ("*", "model/m:1"),
        ("compute", "compute/cpu"),
        ("compute/CPU", "compute/cpu"),
        ("compute/c*", "compute/cpu"),
        ("model/m", "model/m:1"),
        ("batch-deployment/e", "batch-deployment/e/blue"),
    ],
)
def test_a_fault_matches_its_target_and_what_that_begins(target: str, address: str) -> None:
    assert CallFault(FaultKind.FAIL, target=target).matches("put", [address])


@pytest.mark.parametrize("target", ["comp", "compute/cp", "model", "compute/cpu/x"])
def test_a_fault_leaves_other_addresses_alone(target: str) -> None:
    assert not CallFault(FaultKind.FAIL, target=target).matches("put", ["compute/cpu"])


def test_a_fault_of_one_verb_leaves_the_others_alone() -> None:
    assert not CallFault(FaultKind.FAIL, "get").matches("put", ["compute/cpu"])


@given(st.integers(1, 9), st.integers(1, 9), st.booleans())
def test_a_fault_strikes_as_often_as_asked(nth: int, times: int, every: bool) -> None:
    fault = CallFault(FaultKind.FAIL, nth=nth, times=times, every=every)
    struck = [seen for seen in range(1, 200) if fault.applies(seen)]
    step = nth if every else 1
    assert struck == [nth + step * n for n in range(times)]


@given(st.sampled_from(FaultKind), st.integers(1, 9), st.none() | st.integers(1, 9), st.text())
def test_a_fault_is_read_as_it_was_written(
    trouble: FaultKind, nth: int, times: int | None, message: str
) -> None:
    fault = CallFault(trouble, nth=nth, times=times, message=message)
    assert faults.load(faults.dump(fault)) == fault
