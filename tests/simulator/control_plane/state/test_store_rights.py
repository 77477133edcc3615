"""Who may read the state file, and what is said where others could."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mlctl.simulator.control_plane.state.store import Store
from tests.builders.shell import Run, cluster

STATE = (".mlctl", "local.db")


def rights(folder: Path) -> dict[str, str]:
    """The access rights of what is in a folder, and of the folder, in octal."""
    found = [folder, *folder.glob("local.db*")]
    return {one.name: f"{stat.S_IMODE(one.stat().st_mode):o}" for one in found}


def test_a_new_state_is_its_owners_alone_with_all_its_files(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = Store(tmp_path.joinpath(*STATE))
        with store.write() as db:
            db.execute("UPDATE world SET now = 1")
        found = rights(tmp_path / ".mlctl")
    finally:
        os.umask(before)
    store.close()
    own = {"local.db": "600", "local.db-wal": "600", "local.db-shm": "600"}
    assert (found, store.tightened) == ({".mlctl": "700", **own}, ())


def test_a_state_that_others_could_read_is_tightened_and_that_is_said_once(
    tmp_path: Path, mlctl: Run
) -> None:
    cluster(tmp_path / "cpu.yml")
    mlctl("apply", "cpu.yml", "--yes")
    folder = tmp_path / ".mlctl"
    folder.chmod(0o755)
    (folder / "local.db").chmod(0o644)
    (folder / "local.db-wal").write_bytes(b"")
    (folder / "local.db-wal").chmod(0o640)
    first, second = mlctl("plan", "cpu.yml"), mlctl("plan", "cpu.yml")
    assert [line for line in first.err.splitlines() if "other users" in line] == [
        "`.mlctl` was open to other users of this machine (0755); now it is not",
        "`.mlctl/local.db` was open to other users of this machine (0644); now it is not",
        "`.mlctl/local.db-wal` was open to other users of this machine (0640); now it is not",
    ]
    assert "other users" not in second.err
    assert set(rights(folder).values()) == {"700", "600"}
    assert mlctl("plan", "cpu.yml", "--detailed-exitcode").code == 0


def test_the_folder_of_a_state_elsewhere_is_the_users_own_affair(
    tmp_path: Path, mlctl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir(mode=0o755)
    monkeypatch.setenv("MLCTL_LOCAL_DB", str(folder / "state.db"))
    assert "other users" not in mlctl("compute", "list").err
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    assert stat.S_IMODE((folder / "state.db").stat().st_mode) == 0o600
