"""`mlctl finish` with odd input: refused in a sentence, before anything is begun."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.shell import Run

LINE = ("finish", "-n", "heart-classifier-batch", "--seconds-per-file", "60", "--yes")


@pytest.fixture
def staged(mlctl: Run, sample: Path) -> Run:
    """The sample, applied, a folder of two files, an empty one, and a file."""
    assert mlctl("apply", sample, "--yes").code == 0
    for name in ("images", "empty"):
        Path(name).mkdir()
    for name in ("images/a.txt", "images/b.txt", "file"):
        Path(name).write_text(name)
    return mlctl


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--input", "empty"), "the input `empty` has no files"),
        (("--input", "images", "--deadline", "0s"), "`0s` ends at once"),
        (("--input", "images", "--max-cost", "inf"), "a budget must be finite"),
        (("--input", "images", "--name", "../x"), "`../x` is not a valid name"),
        (("--input", "images", "--name", "a" * 201), "is not a valid name"),
        (("--input", "images", "--results", "images"), "`images` exists and is not"),
        (("--input", "images", "--results", "file"), "`file` exists and is not an empty"),
    ],
)
def test_it_is_refused_and_nothing_is_begun(
    staged: Run, flags: tuple[str, ...], words: str
) -> None:
    done = staged(*LINE, *flags)
    assert done.code == 1, done.err
    assert words in done.err
    assert "Traceback" not in done.err
    assert not staged("job", "list", "-o", "json").json
    assert staged("finish", "list", "-o", "json").json == []


def test_results_are_there_as_a_whole_or_not_at_all(
    staged: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("mlctl.cli.finish.run.merge", lambda *_: 1 / 0)
        assert staged(*LINE, "--input", "images", "--name", "night").code == 70
    assert not Path("night-results").exists()
    assert staged("finish", "resume", "night", "--results", "file").code == 1
    assert staged("finish", "resume", "night").code == 0
    assert [path.name for path in Path().glob("*finish-*")] == []
    assert list(Path("night-results").rglob("predictions.csv"))
