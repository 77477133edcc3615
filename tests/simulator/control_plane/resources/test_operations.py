"""The tokens of operations."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mlctl.simulator.control_plane.resources import operations


@given(st.text(max_size=3), st.integers(1, 2**40))
def test_the_token_of_an_operation_leads_back_to_its_number(seed: str, number: int) -> None:
    token = operations.token(seed, number)
    assert operations.number_of(seed, token.upper()) == number
    assert operations.number_of(f"{seed}x", token) is None
