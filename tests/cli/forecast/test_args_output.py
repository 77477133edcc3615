"""What forecasts say while they are carried out."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mlctl.cli.forecast import args
from mlctl.cli.forecast.args import ProgressLine
from mlctl.cli.shell.session import Session


class Terminal(io.StringIO):
    """A stderr on which somebody looks."""

    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, times: list[float], stream: io.StringIO) -> str:
    """What is written when 10 histories are there at each of these seconds."""
    clock = iter([0.0, *(at for at in times for _ in range(2))])
    monkeypatch.setattr(args, "monotonic", lambda: next(clock))
    monkeypatch.setattr(sys, "stderr", stream)
    with ProgressLine(cast("Session", SimpleNamespace(quiet=False))) as progress:
        for _ in times:
            progress.add(10)
            if not progress.is_shown:
                next(clock)
    return stream.getvalue()


def test_on_a_terminal_a_line_says_after_a_second_how_many_histories_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = shown(monkeypatch, [0.5, 1.5], Terminal())
    assert text.startswith("\r\x1b[K20 histories simulated")
    assert text.endswith("\r\x1b[K")


@pytest.mark.parametrize(("times", "stream"), [([0.2, 0.9], Terminal()), ([5.0], io.StringIO())])
def test_what_is_quick_or_read_by_no_person_says_nothing(
    monkeypatch: pytest.MonkeyPatch, times: list[float], stream: Any
) -> None:
    assert shown(monkeypatch, times, stream) == ""
