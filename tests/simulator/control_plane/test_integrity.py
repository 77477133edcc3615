"""A damaged state file is said to be one: by its name, with what to do; never a bug of mlctl."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from mlctl.emulator import Emulator, EmulatorSettings
from mlctl.simulator.control_plane import integrity
from mlctl.simulator.control_plane.state.store import LocalStateError, Store
from tests.builders.emulator import WS, World
from tests.builders.shell import Run, cluster

COMMANDS = (
    ("plan", "cpu.yml"),
    ("apply", "cpu.yml", "--yes"),
    ("compute", "list"),
    ("compute", "show", "-n", "cpu"),
    ("job", "list"),
    ("local", "status"),
    ("local", "advance", "1h"),
    ("local", "fault", "list"),
)
UPDATES = {
    "settings that are no JSON": "UPDATE world SET settings = '{'",
    "settings of another shape": "UPDATE world SET settings = '[1]'",
    "a delay of another type": 'UPDATE world SET settings = \'{"delays": {"compute_update": []}}\'',
    "settings of another policy": """UPDATE world SET settings = '{"in_use": "x"}'""",
    "a clock that is no number": "UPDATE world SET now = 'later'",
    "a clock before its beginning": "UPDATE world SET now = -1e300",
    "no world": "DELETE FROM world",
    "a body that is no JSON": "UPDATE resources SET body = '{\"properties\"'",
    "a body that is a list": "UPDATE resources SET body = '[]'",
    "a body of bytes": "UPDATE resources SET body = x'ff00'",
    "properties that are a number": "UPDATE resources SET body = '{\"properties\": 1}'",
    "no inner properties": "UPDATE resources SET body = '{\"properties\": {}}'",
    "a kind that is none": "UPDATE resources SET kind = 'x', operation = NULL",
    "a name of bytes": "UPDATE resources SET name = x'01'",
    "a resource under the key of another": "UPDATE resources SET parent = 'x'",
    "an operation of nothing": "UPDATE operations SET address = 'x'",
    "an operation of an unknown verb": "UPDATE operations SET verb = 'x'",
    "a fault that is none": "INSERT INTO faults VALUES (9, '{}', 0)",
    "a lock of no level": "INSERT INTO locks VALUES ('k', '/', 'n', 'x', '')",
    "a command that is none": "INSERT INTO commands VALUES (99, 0, '{}');"
    "UPDATE engine SET active = 1",
    "a command that is nothing": "INSERT INTO commands VALUES (99, 0, 'null');"
    "UPDATE engine SET active = 1",
    "an engine of another shape": "UPDATE engine SET state = '[1]', active = 1",
    "a table that is gone": "DROP TABLE faults",
}


@pytest.fixture
def state(mlctl: Run, tmp_path: Path) -> Path:
    """A state file with a cluster in it, which is being made."""
    cluster(tmp_path / "cpu.yml")
    assert mlctl("compute", "create", "--file", "cpu.yml", "--no-wait").code == 0
    return tmp_path / ".mlctl" / "local.db"


def damage(state: Path, script: str) -> None:
    db = sqlite3.connect(state)
    db.executescript(script)
    db.close()


@pytest.mark.parametrize("name", UPDATES)
def test_a_row_that_does_not_fit_is_told_in_a_sentence(name: str, mlctl: Run, state: Path) -> None:
    damage(state, UPDATES[name])
    for command in COMMANDS:
        done = mlctl(*command)
        if done.code not in (0, 3):  # 3: not found
            assert (done.code, "Traceback" in done.err) == (1, False), done.err
            assert "`.mlctl/local.db`" in done.err
            assert "move it away to start again" in done.err


@pytest.mark.parametrize("keep", [0, 1, 99, 100, 5000, 20_000])
def test_a_file_that_was_cut_is_told_in_a_sentence(keep: int, mlctl: Run, state: Path) -> None:
    content = state.read_bytes()
    assert len(content) > keep
    state.write_bytes(content[:keep])
    for command in COMMANDS:
        done = mlctl(*command)
        assert done.code != 70, done.err


def test_flipped_bytes_end_in_no_bug(mlctl: Run, state: Path) -> None:
    content = state.read_bytes()
    for at in range(0, len(content), len(content) // 20):
        flipped = bytearray(content)
        flipped[at : at + 64] = bytes(255 - one for one in flipped[at : at + 64])
        state.write_bytes(flipped)
        for rest in (f"{state}-wal", f"{state}-shm"):
            Path(rest).unlink(missing_ok=True)
        for command in (("compute", "list"), ("local", "advance", "1h")):
            done = mlctl(*command)
            assert done.code != 70, (at, done.err)


def test_the_emulator_says_so_too(tmp_path: Path) -> None:
    def bug(error: Exception) -> None:
        raise AssertionError from error

    store = Store(tmp_path / "local.db")
    here = World(Emulator(store, EmulatorSettings(bug=bug)), store)
    damage(tmp_path / "local.db", UPDATES["settings of another shape"])
    answer = here.get(f"{WS}/computes")
    assert (answer.status, "is damaged" in answer.data["error"]["message"]) == (500, True)
    store.close()


def test_a_sound_file_is_sound(mlctl: Run, state: Path) -> None:
    assert mlctl("local", "advance", "1h").code == 0
    store = Store(state)
    integrity.check(store)
    damage(state, UPDATES["no world"])
    with pytest.raises(LocalStateError, match="table world does not fit"):
        integrity.check(store)
    store.close()
