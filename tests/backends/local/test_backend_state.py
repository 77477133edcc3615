"""The state of the local backend on disk: processes, kills, and files that are not ours."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.kinds.address import Address, Scope
from mlctl.simulator.control_plane import control
from mlctl.simulator.control_plane.faults import CallFault, FaultKind
from mlctl.simulator.control_plane.state.store import LocalStateError
from tests.builders.paths import ROOT

SCOPE = Scope("sub", "rg", "ws")
WRITER = """
import sys
from mlctl.backends.local.backend import LocalBackend
from mlctl.kinds.address import Address, Scope

backend = LocalBackend(sys.argv[1], Scope("sub", "rg", "ws"))
inner = {"scaleSettings": {"maxNodeCount": 0}}
body = {"properties": {"computeType": "AmlCompute", "properties": inner}}
for n in range(int(sys.argv[3])):
    name = f"{sys.argv[2]}-{n}x"
    backend.put(Address("compute", name), body).wait()
    print(name, flush=True)
"""


def write(path: Path, prefix: str, count: int) -> subprocess.Popen[str]:
    """A process that puts clusters, and prints each name once its put is acknowledged."""
    command = [sys.executable, "-c", WRITER, str(path), prefix, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def computes(path: Path) -> dict[str, str]:
    backend = LocalBackend(path, SCOPE)
    found = {
        live.address.name: live.body["properties"]["provisioningState"]
        for live in backend.list("compute")
    }
    backend.close()
    return found


def complaint(path: Path) -> str:
    with pytest.raises(LocalStateError) as caught:
        LocalBackend(path, SCOPE)
    return caught.value.message


def test_what_one_process_did_the_next_one_sees(tmp_path: Path) -> None:
    path = tmp_path / ".mlctl" / "local.db"
    backend = LocalBackend(path, SCOPE)
    operation = backend.put(Address("model", "m", None, "1"), {"properties": {"modelUri": "u"}})
    backend.put(Address("batch-endpoint", "heart"), {"properties": {}})
    control.add_fault(backend.handle, CallFault(FaultKind.FAIL, "list", nth=5))
    assert operation.due is None
    backend.close()
    again = LocalBackend(path, SCOPE)
    assert [str(one.address) for one in control.status(again.handle).pending] == [
        "batch-endpoint/heart"
    ]
    assert (len(again.list("model")), control.status(again.handle).faults[0].seen) == (1, 1)
    again.close()


def test_the_folder_of_the_state_is_kept_out_of_git(tmp_path: Path) -> None:
    LocalBackend(tmp_path / ".mlctl" / "local.db", SCOPE).close()
    assert (tmp_path / ".mlctl" / ".gitignore").read_text() == "*\n"


def test_no_other_folder_gets_a_gitignore(tmp_path: Path) -> None:
    LocalBackend(tmp_path / "state" / "local.db", SCOPE).close()
    assert [one.name for one in (tmp_path / "state").iterdir()] == ["local.db"]


@pytest.mark.slow
def test_eight_processes_write_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / ".mlctl" / "local.db"
    writers = [write(path, f"w{prefix}", 20) for prefix in "abcdefgh"]
    said = [name for writer in writers for name in writer.communicate(timeout=60)[0].split()]
    assert [writer.returncode for writer in writers] == [0] * 8
    assert len(said) == 160
    assert computes(path) == dict.fromkeys(said, "Succeeded")


@pytest.mark.slow
@pytest.mark.parametrize("after", [1, 7, 40])
def test_a_killed_process_loses_nothing_that_was_acknowledged(tmp_path: Path, after: int) -> None:
    path = tmp_path / "local.db"
    writer = write(path, "killed", 10_000)
    assert writer.stdout is not None
    said = [writer.stdout.readline().strip() for _ in range(after)]
    writer.send_signal(signal.SIGKILL)
    said += writer.stdout.read().split("\n")[:-1]
    writer.stdout.close()
    writer.wait(60)
    found = computes(path)
    assert set(said) <= set(found)
    assert len(found) <= len(said) + 1
    check = sqlite3.connect(path)
    assert check.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    check.close()


def test_a_file_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "local.db"
    LocalBackend(path, SCOPE).close()
    newer = sqlite3.connect(path)
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    assert "newer mlctl (state version 99" in complaint(path)


def test_a_file_of_an_older_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "local.db"
    LocalBackend(path, SCOPE).close()
    older = sqlite3.connect(path)
    older.execute("PRAGMA user_version = 3")
    older.close()
    assert "older mlctl (state version 3" in complaint(path)
    assert "move it away to start again" in complaint(path)


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("remember the milk\n" * 100)
    assert "no mlctl state, or damaged" in complaint(path)
    assert path.read_text().startswith("remember")


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE songs (name TEXT)")
    other.close()
    assert "another program" in complaint(path)


def test_a_damaged_state_is_said_to_be_damaged(tmp_path: Path) -> None:
    path = tmp_path / "local.db"
    LocalBackend(path, SCOPE).close()
    path.write_bytes(path.read_bytes()[:4096] + b"\xff" * 40_000)
    assert "damaged" in complaint(path)


@pytest.mark.parametrize("inside", ["a folder", "under a file"])
def test_a_path_that_cannot_hold_a_state_is_said_to(tmp_path: Path, inside: str) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path if inside == "a folder" else tmp_path / "file" / "deep" / "local.db"
    assert "cannot" in complaint(path)


def test_an_empty_file_becomes_a_state(tmp_path: Path) -> None:
    path = tmp_path / "local.db"
    path.touch()
    LocalBackend(path, SCOPE).close()
    assert computes(path) == {}


def test_a_closed_backend_says_so_and_closes_twice(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path / "local.db", SCOPE)
    backend.close()
    backend.close()
    with pytest.raises(LocalStateError, match="was closed"):
        backend.list("compute")
