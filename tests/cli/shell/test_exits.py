"""How commands end: the table of exit codes, wrong usage, and bugs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mlctl.cli.shell.exits import Exit
from tests.builders import entry_points
from tests.builders.paths import ROOT
from tests.builders.shell import Run, cluster, finish, start

SILLY = ("--nonsense",)


def test_every_exit_code_has_its_rows_in_the_docs() -> None:
    page = (ROOT / "docs" / "exit-codes.md").read_text(encoding="utf-8")
    assert {code.value for code in Exit} == {
        int(code) for code in re.findall(r"^\| (\d+) ", page, re.MULTILINE)
    }


def test_codes_are_those_that_scripts_rely_on() -> None:
    values = {code.name: code.value for code in Exit}
    assert (values["OK"], values["ERROR"], values["USAGE"], values["NOT_FOUND"]) == (0, 1, 2, 3)
    assert [Exit(code).name for code in range(4, 11)] == [
        "STALE", "REFUSED", "REJECTED", "PARTIAL", "CANCELLED", "TIMED_OUT", "LOCKED"
    ]  # fmt: skip


@pytest.mark.parametrize("verb", ["validate", "plan", "apply", "destroy"])
@pytest.mark.parametrize("wrong", [SILLY, ("-o", "nonsense", "cpu.yml"), ()])
def test_wrong_usage_of_the_plan_family_is_1(
    mlctl: Run, tmp_path: Path, verb: str, wrong: tuple[str, ...]
) -> None:
    cluster(tmp_path / "cpu.yml")
    done = mlctl(verb, *wrong)
    assert (done.code, done.out, done.err.startswith("ERROR: ")) == (1, "", True)


@pytest.mark.parametrize(
    "words",
    [
        ("compute", "show"),
        ("compute", "show", "-n"),
        ("compute", "show", "-n", "cpu", *SILLY),
        ("compute", "list", "-o", "nonsense"),
        ("compute", "nonsense"),
        ("nonsense",),
        ("local", "advance"),
    ],
    ids=" ".join,
)
def test_wrong_usage_of_an_az_style_verb_is_2(mlctl: Run, words: tuple[str, ...]) -> None:
    done = mlctl(*words)
    assert (done.code, done.out, done.err.startswith("ERROR: ")) == (2, "", True)


def test_flags_before_the_verb_do_not_change_the_code_of_wrong_usage(mlctl: Run) -> None:
    assert mlctl("--backend", "local", "plan", *SILLY).code == 1


def test_a_backend_that_is_not_there_is_an_error_that_names_those_that_are(
    mlctl: Run, tmp_path: Path
) -> None:
    done = mlctl("plan", cluster(tmp_path / "cpu.yml"), "--backend", "nowhere", *entry_points.SCOPE)
    assert (done.code, "there is no backend `nowhere`" in done.err) == (1, True)


def test_a_bug_is_70_and_one_line_how_to_report_it(tmp_path: Path) -> None:
    entry_points.install(tmp_path)
    done = finish(start(tmp_path, "compute", "list", "--backend", "broken", *entry_points.SCOPE))
    assert (done.code, done.out, "Traceback" in done.err) == (70, "", False)
    assert "this is a bug in mlctl: ZeroDivisionError: a bug" in done.err


def test_the_traceback_of_a_bug_is_shown_under_debug(tmp_path: Path) -> None:
    entry_points.install(tmp_path)
    debug = ("--backend", "broken", *entry_points.SCOPE, "--debug")
    done = finish(start(tmp_path, "compute", "list", *debug))
    assert (done.code, "Traceback (most recent call last)" in done.err) == (70, True)
