"""Several processes on one workspace, and processes that are killed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.builders.shell import PLENTY, clusters, finish, start

LIST = ("compute", "list", "--query", "[].name")


@pytest.mark.slow
def test_eight_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    finish(start(tmp_path, *PLENTY))
    for writer in "abcdefgh":
        for file in clusters(tmp_path / writer, 4).iterdir():
            file.write_text(file.read_text().replace("name: ", f"name: {writer}"))
    running = [start(tmp_path, "apply", writer, "--yes") for writer in "abcdefgh"]
    assert [finish(one).code for one in running] == [0] * 8
    assert len(set(finish(start(tmp_path, *LIST)).json)) == 32


@pytest.mark.slow
def test_eight_writers_of_the_same_files_agree(tmp_path: Path) -> None:
    clusters(tmp_path / "same", 4)
    running = [start(tmp_path, "apply", "same", "--yes") for _ in range(8)]
    ended = [finish(one) for one in running]
    assert {done.code for done in ended} == {0}
    claimed = re.findall(r"Resources: (\d+) added", "".join(done.out for done in ended))
    assert (len(claimed), sum(map(int, claimed))) == (8, 4)  # each is made by one of them
    assert finish(start(tmp_path, *LIST)).json == ["c00", "c01", "c02", "c03"]
    assert finish(start(tmp_path, "plan", "same", "--detailed-exitcode")).code == 0


@pytest.mark.slow
@pytest.mark.parametrize("said", [1, 7, 20, 33])
def test_a_killed_apply_is_finished_by_the_next(tmp_path: Path, said: int) -> None:
    """It is killed after so many lines of progress."""
    clusters(tmp_path / "many", 20)
    process = start(tmp_path, "apply", "many", "--yes")
    assert process.stderr is not None
    for _ in range(said + 1):
        process.stderr.readline()
    process.kill()
    finish(process)
    assert finish(start(tmp_path, "apply", "many", "--yes")).code == 0
    plan = finish(start(tmp_path, "plan", "many", "--detailed-exitcode"))
    assert (plan.code, "No changes." in plan.out) == (0, True)
