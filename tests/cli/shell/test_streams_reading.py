"""Big files: a terminal says how much of them was read."""

from __future__ import annotations

import io
from itertools import count
from pathlib import Path

import pytest

from mlctl import files
from mlctl.cli.shell.streams import show_reading


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def read(path: Path, stream: io.StringIO, seconds_a_look: float) -> str:
    """What the stream shows of reading a file, by a clock that goes on at every look."""
    looks = count()
    with show_reading(stream, clock=lambda: next(looks) * seconds_a_look):
        for _ in files.chunks(path):
            pass
    return stream.getvalue()


@pytest.fixture
def big(tmp_path: Path) -> Path:
    with (tmp_path / "big").open("wb") as file:
        file.truncate(200 << 20)
    return tmp_path / "big"


def test_a_terminal_shows_how_much_was_read_and_is_clean_again(big: Path) -> None:
    shown = read(big, Terminal(), 0.1)
    assert "\rReading local files: 0.1 GB" in shown
    assert shown.endswith("\r" + " " * len("Reading local files: 0.1 GB") + "\r")


def test_what_is_soon_done_shows_nothing(big: Path) -> None:
    assert read(big, Terminal(), 0.001) == ""


def test_what_is_no_terminal_gets_nothing(big: Path) -> None:
    assert read(big, io.StringIO(), 0.1) == ""
