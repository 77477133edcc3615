"""A rehearsal has its time, whatever takes long."""

from __future__ import annotations

import signal
import threading

import pytest

from mlctl.cli.rehearse import stage
from mlctl.rehearsal.process import TooLate


def test_the_end_of_the_time_stops_what_mlctl_itself_is_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "_LATE_S", 0.01)
    with pytest.raises(TooLate), stage._signals(0.0):
        threading.Event().wait(60)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
