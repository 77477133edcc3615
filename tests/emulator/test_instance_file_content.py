"""What is read of a running emulator, and what is no instance file."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlctl.emulator.instance_file import EmulatorInstance, find_running
from mlctl.pointer import Data


@pytest.fixture
def here(tmp_path: Path) -> Iterator[EmulatorInstance]:
    """An instance that seems to run: this process, which listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        folder = str(tmp_path.resolve())
        yield EmulatorInstance(url, None, None, "s", "g", "w", None, os.getpid(), folder)


def test_what_is_written_is_read(here: EmulatorInstance, tmp_path: Path) -> None:
    here.write(tmp_path / "emulator.json")
    assert find_running(tmp_path / "emulator.json") == here


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[(name, 1) for name in ("url", "subscription", "resource_group", "workspace")],
        *[(name, [1]) for name in ("url", "ca_file", "bundle", "workspace", "token", "pid")],
        *[("pid", odd) for odd in (True, 1.5, 0, -1, 2**31, 10**400, None, "1")],
        *[("url", odd) for odd in ("", "http://[", "http://127.0.0.1:x", "http://127.0.0.1", "x")],
        *[("url", f"http://{odd}:1") for odd in ("a" * 70, "a..b", "\ud800")],
        ("workspace", "w\nexport PATH=/tmp"),
        ("token", "\ud800"),
        ("more", 1),
    ],
)
def test_a_value_that_none_can_be_is_no_instance(
    here: EmulatorInstance, name: str, value: Data, tmp_path: Path
) -> None:
    file = tmp_path / "emulator.json"
    here.write(file)
    file.write_text(json.dumps({**json.loads(file.read_text()), name: value}))
    assert find_running(file) is None


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"1", b"null", b"[" * 10_000, b'{"a":' * 10_000, b"\xff", b"9" * 9000]
)
def test_other_content_is_no_instance(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "emulator.json").write_bytes(content)
    (tmp_path / "emulator.json").chmod(0o600)
    assert find_running(tmp_path / "emulator.json") is None


def test_other_kinds_of_files_are_no_instance(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    with (tmp_path / "sparse").open("wb") as sparse:
        sparse.truncate(50 * 2**30)
    (tmp_path / "sparse").chmod(0o600)
    for name in ("pipe", "folder", "loop", "sparse", "nothing"):
        assert find_running(tmp_path / name) is None
