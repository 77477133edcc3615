"""Files are written whole, and only where they are regular; reading is bounded."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path

import pytest

from mlctl import files


def test_a_private_file_is_its_owners_alone_and_replaces_another(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("old")
    file.chmod(0o644)
    files.write(file, b"new", private=True)
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (b"new", 0o600)
    assert [each.name for each in tmp_path.iterdir()] == ["secret"]


def test_another_file_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "page"
    file.write_text("old")
    file.chmod(0o640)
    files.write(file, b"new")
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (b"new", 0o640)


def test_a_new_file_has_the_mode_that_the_user_wants(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        files.write(tmp_path / "page", b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "page").stat().st_mode) == 0o640


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        files.write(tmp_path / "folder", b"text", private=True)
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("there", [True, False])
def test_of_a_link_the_target_is_written_and_the_link_stays(tmp_path: Path, there: bool) -> None:
    (tmp_path / "link").symlink_to("real")
    if there:
        (tmp_path / "real").write_text("old")
    files.write(tmp_path / "link", b"new", private=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_pipe_is_written_into(tmp_path: Path) -> None:
    pipe, got = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    files.write(pipe, b"text", private=True)
    reader.join()
    assert got == [b"text"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_pipe_is_read_once_somebody_writes_to_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(b"text"))
    writer.start()
    with files.open_any(pipe) as stream:
        assert stream.read() == b"text"
    writer.join()


def test_a_pipe_to_which_nobody_writes_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlctl.files._PIPE_S", 0.01)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="nobody writes to this pipe"):
        files.open_any(tmp_path / "pipe")


def test_a_device_stays_a_device(tmp_path: Path) -> None:
    """A node of our own like `/dev/null`: a write that replaced it has broken machines."""
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        device.write_bytes(b"")
    except OSError:
        pytest.skip("only root may make devices, and some containers let nobody")
    files.write(device, b"text", private=True)
    assert stat.S_ISCHR(device.stat().st_mode)
    assert [each.name for each in tmp_path.iterdir()] == ["null"]


@pytest.mark.parametrize("into", ["pipe", "file"])
def test_standard_output_by_its_name_is_standard_output(tmp_path: Path, into: str) -> None:
    code = "from pathlib import Path; from mlctl import files; print('a', flush=True); "
    code += "files.write(Path('/dev/stdout'), b'b\\n')"
    with (tmp_path / "out").open("wb") as out:
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdout=out if into == "file" else subprocess.PIPE,
            check=True,
        )
    written = (tmp_path / "out").read_bytes() if into == "file" else done.stdout
    assert written == b"a\nb\n"


def test_a_file_that_is_too_big_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert files.read(tmp_path / "a", 5) == b"12345"
    with pytest.raises(OSError, match="it is bigger than 4 bytes"):
        files.read(tmp_path / "a", 4)
    with pytest.raises(OSError, match="it is no regular file"):
        files.read(Path("/dev/zero"), 4)
    with pytest.raises(OSError, match="it is bigger"):
        files.read(Path("/dev/zero"), 4, pipes=True)


def test_what_cannot_be_read_is_named() -> None:
    with pytest.raises(OSError, match="Input/output error: '/proc/self/mem'"):
        files.read(Path("/proc/self/mem"), 4)


def test_a_folder_of_ours_is_ignored_by_git_and_one_of_others_is_left_alone(
    tmp_path: Path,
) -> None:
    files.make_ignored_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b" / ".gitignore").read_text() == "*\n"
    files.make_ignored_folder(tmp_path)
    assert not (tmp_path / ".gitignore").exists()


@pytest.mark.parametrize(("before", "after"), [(0o644, 0o600), (0o660, 0o600), (0o755, 0o700)])
def test_what_others_could_use_is_made_the_users_own(
    tmp_path: Path, before: int, after: int
) -> None:
    file = tmp_path / "state"
    file.write_text("")
    file.chmod(before)
    (tmp_path / "link").symlink_to(file)
    assert files.make_private(tmp_path / "link") == before
    assert files.make_private(file) is None
    assert stat.S_IMODE(file.stat().st_mode) == after


def test_a_pipe_and_what_is_not_there_are_left_as_they_are(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o644)
    assert files.make_private(tmp_path / "pipe") is None
    assert files.make_private(tmp_path / "none") is None
    assert stat.S_IMODE((tmp_path / "pipe").stat().st_mode) & 0o077


def test_a_private_file_is_made_once_and_nothing_is_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "state"
    files.make_private_file(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text("kept")
    files.make_private_file(file)
    files.make_private_file(tmp_path / "none" / "state")
    assert file.read_text() == "kept"


def test_a_bound_takes_no_room_before_there_is_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    tracemalloc.start()
    try:
        assert files.read(tmp_path / "a", 1 << 30) == b"12345"
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "~nobody-at-all/x"])
def test_what_no_path_can_be_is_neither_file_nor_folder(name: str) -> None:
    path = files.expanded(Path(name))
    assert (files.is_file(path), files.is_folder(path)) == (False, False)


def test_a_path_is_expanded_by_the_home_of_its_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert files.expanded(Path("~/a")) == Path("/home/me/a")
    assert files.expanded(Path("~nobody-at-all/a")) == Path("~nobody-at-all/a")


def test_links_in_a_circle_have_a_real_path_too(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("a")
    assert files.real(tmp_path / "a").name == "a"


def test_several_files_are_written_all_or_none(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("1")
    two.write_text("2")
    files.write_all({one: b"a", two: b"b"})
    assert (one.read_text(), two.read_text()) == ("a", "b")


def test_where_one_of_several_cannot_be_written_the_others_are_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("1")
    two.write_text("2")
    real = files.write

    def full(path: Path, content: bytes) -> None:
        if content == b"b":
            raise OSError(28, "no space left", str(path))
        real(path, content)

    monkeypatch.setattr(files, "write", full)
    with pytest.raises(OSError, match="no space"):
        files.write_all({one: b"a", two: b"b"})
    assert (one.read_text(), two.read_text()) == ("1", "2")


def test_what_is_yet_to_be_written_is_read_as_if_it_were(tmp_path: Path) -> None:
    file, link = tmp_path / "a", tmp_path / "b"
    file.write_text("old")
    link.symlink_to(file)
    renamed = files.Files.with_texts({link: "longer"})
    assert (renamed.read(file, 10), renamed.size(link)) == (b"longer", 6)
    assert list(renamed.chunks(file)) == [b"longer"]
    assert renamed.unwritten(tmp_path / "c") is None
    assert (files.ON_DISK.read(file, 10), files.ON_DISK.size(link)) == (b"old", 3)
    assert list(files.ON_DISK.chunks(link)) == [b"old"]


@pytest.mark.parametrize("name", ["x" * 250, "\u00e9" * 125, "\u4e2d" * 83])
def test_the_longest_names_can_be_written(tmp_path: Path, name: str) -> None:
    for content in (b"new", b"again"):
        files.write(tmp_path / name, content)
        assert (tmp_path / name).read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_a_file_of_several_names_stays_one(tmp_path: Path) -> None:
    file, other = tmp_path / "a", tmp_path / "b"
    file.write_text("older and longer")
    other.hardlink_to(file)
    files.write(file, b"new")
    assert (other.read_bytes(), file.stat().st_ino) == (b"new", other.stat().st_ino)


def test_a_private_file_leaves_its_other_names_alone(tmp_path: Path) -> None:
    file, other = tmp_path / "a", tmp_path / "b"
    file.write_text("old")
    other.hardlink_to(file)
    files.write(file, b"secret", private=True)
    assert (file.read_bytes(), other.read_bytes()) == (b"secret", b"old")


def test_where_a_file_of_several_names_cannot_be_written_it_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"old")
    (tmp_path / "b").hardlink_to(file)
    fill = files._fill

    def full(stream: io.FileIO, content: bytes) -> None:
        fill(stream, content[:2])
        if content != b"old":
            raise OSError(28, "no space left", str(file))
        fill(stream, content)

    monkeypatch.setattr(files, "_fill", full)
    with pytest.raises(OSError, match="no space"):
        files.write(file, b"new content")
    assert file.read_bytes() == b"old"


@pytest.mark.skipif(os.geteuid() != 0, reason="to give files away takes root")
def test_a_file_of_another_user_stays_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a"
    for allowed in (True, False):
        file.write_text("old")
        file.chmod(0o640)
        os.chown(file, 1234, 2345)
        if not allowed:
            monkeypatch.setattr(os, "fchown", lambda *_: os.chown("/nowhere/at/all", 0, 0))
        files.write(file, b"new")
        status = file.stat()
        assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 2345, 0o640)
        assert file.read_bytes() == b"new"
