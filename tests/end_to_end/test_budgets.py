"""Budgets of work and of names: they hold, and they only fall."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import names, ratchet

Commit = Callable[[float], None]


@pytest.fixture
def commit(tmp_path: Path) -> Commit:
    """A repository without a decision, and a function that commits a budget of validate."""
    (tmp_path / ratchet.DECISION).parent.mkdir(parents=True)
    (tmp_path / ratchet.DECISION).touch()
    (tmp_path / "bench").mkdir()
    _git(tmp_path, "init")

    def committed(calls: float) -> None:
        _write(tmp_path, calls)
        _git(tmp_path, "add", ".")
        _git(tmp_path, "commit", "-m", f"Set {calls}")

    return committed


def _write(root: Path, calls: float) -> None:
    (root / ratchet.BUDGETS).write_text(f"[calls]\nvalidate = {calls}\n")


def _git(root: Path, *words: str) -> None:
    author = ("-c", "user.name=a", "-c", "user.email=a@b.test", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *author, *words], cwd=root, check=True, capture_output=True)


def test_no_budget_was_raised_without_a_decision() -> None:
    assert [*ratchet.raised()] == []


def test_a_budget_may_fall_and_stay(tmp_path: Path, commit: Commit) -> None:
    for calls in (900, 800, 800):
        commit(calls) if calls == 900 else _write(tmp_path, calls)
        assert [*ratchet.raised(tmp_path)] == []


def test_a_raised_budget_is_refused_also_in_later_commits(tmp_path: Path, commit: Commit) -> None:
    commit(800)
    _write(tmp_path, 801)
    assert [*ratchet.raised(tmp_path)] == [
        "the budget of calls.validate is 801, and was 800: budgets only fall; one that has to rise "
        "needs a row in docs/decisions/0071-budgets.md"
    ]
    commit(850)
    assert len([*ratchet.raised(tmp_path)]) == 1


def test_a_decision_allows_a_budget_up_to_its_value(tmp_path: Path, commit: Commit) -> None:
    commit(1_000)
    page = tmp_path / ratchet.DECISION
    page.write_text("| `calls.validate` | 1,000 | 1,100 | It reads another file. |\n")
    _write(tmp_path, 1_100)
    assert [*ratchet.raised(tmp_path)] == []
    _write(tmp_path, 1_101)
    assert len([*ratchet.raised(tmp_path)]) == 1


def test_without_git_nothing_is_known_of_the_past(tmp_path: Path) -> None:
    (tmp_path / "bench").mkdir()
    (tmp_path / ratchet.DECISION).parent.mkdir(parents=True)
    (tmp_path / ratchet.DECISION).touch()
    _write(tmp_path, 5)
    assert [*ratchet.raised(tmp_path)] == []


def test_names_are_counted_wherever_they_are_bound(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(
        "import it\n"
        "one = found_files = 1\n"
        "def told(self, wanted, *args):\n"
        "    for _given in args:\n"
        "        with open(wanted) as file, file as _: ...\n"
        "    try: print(held := 1, [each for each in args])\n"
        "    except OSError as other: ...\n"
    )
    bound = sorted(names.bound_names(tmp_path))
    assert bound == [
        *("_given", "args", "each", "file", "found_files", "held", "one", "other", "wanted")
    ]
    assert [name for name in bound if names.is_empty(name)] == [
        *("_given", "each", "held", "one", "other", "wanted")
    ]


def test_nothing_is_unpacked_where_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("f(*a)\nf(\n  *(a, b),\n c=d)\nx = (*a, b)\nx = (*(a, b), c)\n")
    assert [*names.unpacked_tuples([tmp_path])] == [
        f"{tmp_path}/a.py:{line}: what is written in place is unpacked" for line in (3, 6)
    ]


def test_a_class_name_has_one_meaning(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class Plan: ...\nclass _Reader: ...\n")
    (tmp_path / "b.py").write_text("\nclass Plan: ...\nclass _Reader: ...\nclass Step: ...\n")
    assert [*names.repeated_classes([tmp_path])] == [
        f"{tmp_path}/a.py:1, {tmp_path}/b.py:2: 2 classes are called Plan"
    ]
