"""What a job left behind, held against its inputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlctl.rehearsal.inputs import Inputs, RehearsalError
from mlctl.rehearsal.scoring.verify import verify
from tests.builders import rehearsed


def codes(folder: Path, text: str, key: int | None = None) -> list[str]:
    """The codes of what is found in one file of results about `0.txt`, `1.txt` and `2.txt`."""
    inputs = rehearsed.numbers(folder, 3)
    (folder / "scores.csv").write_text(text)
    return [one.rule.code for one in verify(folder / "scores.csv", inputs, key)]


@pytest.mark.parametrize(
    ("text", "key", "found"),
    [
        ("0.txt,5\n1.txt,5\n2.txt,5\n", None, []),
        ("/mnt/in/0.txt,5\n'1.txt',5\n2.txt,5\n", None, []),
        ("0.txt,5\n0.txt,6\n1.txt,5\n2.txt,5\n", None, []),
        ("0.txt,5\n2.txt,5\n", None, ["MLC601"]),
        ("0.txt,5\n1.txt,5\n1.txt,5\n2.txt,5\n", None, ["MLC602"]),
        ("0.txt,5\n0.txt,6\n1.txt,5\n2.txt,5\n", 1, ["MLC602"]),
        ("5,0.txt\n5,1.txt\n5,2.txt\n", 1, ["MLC601"]),
    ],
)
def test_each_input_is_there_once(
    text: str, key: int | None, found: list[str], tmp_path: Path
) -> None:
    assert codes(tmp_path, text, key) == found


@pytest.mark.parametrize(
    ("numbers", "size", "found"),
    [
        ((0, 1), 2, []),
        ((0, 1), None, []),
        ((0,), 2, ["MLC601"]),
        ((1, 0, 1), 2, ["MLC602"]),
        ((0, 1, 2, 3), 1, []),
    ],
)
def test_mini_batches_of_a_simulated_job_stand_for_their_inputs(
    numbers: tuple[int, ...], size: int | None, found: list[str], tmp_path: Path
) -> None:
    inputs = rehearsed.numbers(tmp_path, 3)
    rows = "".join(f"mini-batch {number},simulated\n" for number in numbers)
    (tmp_path / "scores.csv").write_text(rows)
    told = verify(tmp_path / "scores.csv", inputs, None, size)
    assert [one.rule.code for one in told] == found


def test_results_without_rows_or_without_the_cell_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(RehearsalError, match="has no rows"):
        codes(tmp_path, "")
    (tmp_path / "more").mkdir()
    with pytest.raises(RehearsalError, match="has 9 cells"):
        codes(tmp_path / "more", "a,b\n", 9)


def test_files_of_one_name_in_different_folders_are_no_row_twice(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("mini-batch 0,simulated\nmini-batch 1,simulated\n")
    inputs = Inputs(Path(), ("a/1.txt", "b/1.txt"))
    assert list(verify(tmp_path, inputs, size=1)) == []
