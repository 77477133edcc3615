"""Where the lives of a training end."""

from __future__ import annotations

import pytest

from mlctl.rehearsal.training import cuts
from mlctl.rehearsal.training.model import Life, Saved, Trained


def trained(events: int, *writes: int) -> Trained:
    """A calm run that has written a checkpoint after each of these line events."""
    saved = [
        Saved(f"outputs/{at}.pt", "write", None, at, float(at), number)
        for number, at in enumerate(writes)
    ]
    life = Life(events=events, writes=saved)
    return Trained(None, [life], {}, life.metrics, frozenset())  # type: ignore[arg-type]


@pytest.mark.parametrize("anywhere", [False, True])
@pytest.mark.parametrize("writes", [(100, 200, 300), (100,), (400,)], ids=str)
def test_no_kill_falls_after_the_last_write(writes: tuple[int, ...], anywhere: bool) -> None:
    calm = trained(1000, *writes)
    lines = [
        cut.line
        for seed in range(20)
        for _, cut in cuts.by_number(calm, seed, 10, None, anywhere=anywhere)
        if cut.line is not None
    ]
    assert max(lines, default=0) <= writes[-1] + 1
    assert lines or not anywhere


def test_a_training_that_writes_nothing_is_killed_at_any_line() -> None:
    found = [cut.line or 0 for _, cut in cuts.by_number(trained(1000), 0, 20, None, anywhere=False)]
    assert max(found) > 800
