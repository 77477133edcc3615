"""`mlctl test`: a project's expectations of its own files, policies and plans."""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.builders.paths import SAMPLES
from tests.builders.shell import Run, cluster

HEAD = "tests:\n"


def case(folder: Path, text: str) -> None:
    """A case file, beside a cluster."""
    cluster(folder / "cpu.yml")
    (folder / "own.test.yml").write_text(HEAD + text)


def test_the_sample_policies_pass_their_own_tests(mlctl: Run, tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "policies", tmp_path / "policies")
    done = mlctl("test", "policies")
    assert (done.code, "4 of 4 passed" in done.out) == (0, True)
    assert not (tmp_path / ".mlctl").exists()


@pytest.mark.parametrize(
    ("expect", "wrong"),
    [
        ("{}", None),
        ("{changes: {compute/cpu: create}}", None),
        ("{changes: {}}", "compute/cpu: expected no change, the plan says create"),
        ("{changes: {compute/cpu: update}}", "expected update, the plan says create"),
        ("{changes: {model/m: create}}", "model/m: expected create, the plan says no change"),
        ("{findings: [MLC308]}", "not found: MLC308"),
    ],
)
def test_what_is_not_as_expected_is_told(
    mlctl: Run, tmp_path: Path, expect: str, wrong: str | None
) -> None:
    case(tmp_path, f"  - {{name: it is so, files: [cpu.yml], expect: {expect}}}\n")
    done = mlctl("test")
    assert done.code == (0 if wrong is None else 1)
    assert wrong is None or (wrong in done.out and "own.test.yml:2" in done.out)


def test_an_error_has_to_be_expected_at_its_place_and_leaves_no_plan(
    mlctl: Run, tmp_path: Path
) -> None:
    text = "  - {{name: it is so, files: [cpu.yml], expect: {{findings: [{}], changes: {{}}}}}}\n"
    case(tmp_path, text.format("MLC103 cpu.yml:5"))
    with (tmp_path / "cpu.yml").open("a") as file:
        file.write("min_instances: x\n")
    done = mlctl("test")
    assert "not found: MLC103 cpu.yml:5" in done.out
    assert "not expected: MLC103 cpu.yml:6" in done.out
    assert "no plan: the files have errors" in done.out
    (tmp_path / "own.test.yml").write_text(HEAD + text.format("MLC103 cpu.yml:6"))
    assert "not found" not in mlctl("test").out


def test_a_case_has_an_environment_variables_and_a_workspace_of_its_own(
    mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLCTL_ENV", "nowhere")
    (tmp_path / "mlctl.yml").write_text("environments: {prod: {variables: {most: 3}}}\n")
    text = (tmp_path / "cases" / "own.test.yml", tmp_path / "cases" / "cpu.yml")
    text[0].parent.mkdir()
    cluster(text[1])
    text[1].write_text(text[1].read_text().replace("2", "${{ var.most }}"))
    one = "  - {name: %s, files: [cpu.yml], live: [cpu.yml], expect: {changes: {}}, %s}\n"
    text[0].write_text(HEAD + one % ("a", "env: prod") + one % ("b", "var: {most: 2}"))
    done = mlctl("test", "cases", "-o", "json")
    assert [one["passed"] for one in done.json] == [True, True]
    text[0].write_text(HEAD + one % ("a", "env: prd"))
    assert "did you mean `prod`?" in mlctl("test").out


def test_what_lies_beside_cases_is_not_planned_with_the_folder_above(
    mlctl: Run, tmp_path: Path
) -> None:
    case(tmp_path / "tests", "  - {name: it is so, files: [cpu.yml]}\n")
    cluster(tmp_path / "tests" / "deeper" / "gpu.yml")
    cluster(tmp_path / "mine.yml")
    planned = mlctl("plan", ".", "-o", "json").json["resource_changes"]
    assert [one["address"] for one in planned] == ["compute/mine"]
    named = mlctl("plan", "tests/cpu.yml", "-o", "json").json["resource_changes"]
    assert [one["address"] for one in named] == ["compute/cpu"]


def test_results_are_told_to_build_agents_as_junit(mlctl: Run, tmp_path: Path) -> None:
    case(tmp_path, "  - {name: a & b, files: [cpu.yml]}\n  - {name: c, files: [no.yml]}\n")
    done = mlctl("test", "-o", "junit")
    suite = ET.fromstring(done.out)
    assert (done.code, suite.attrib["tests"], suite.attrib["failures"]) == (1, "2", "1")
    names = [(one.attrib["name"], one.find("failure") is None) for one in suite]
    assert names == [("a & b", True), ("c", False)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("  - {name: a}\n", "error[MLC1"),
        ("  - {name: a, files: [cpu.yml], expct: {}}\n", "did you mean `expect`?"),
        ("  - {name: a, files: [cpu.yml], expect: {changes: {compute/cpu: made}}}\n", "error[MLC1"),
    ],
)
def test_a_wrong_case_file_is_an_error_at_its_place(
    mlctl: Run, tmp_path: Path, text: str, said: str
) -> None:
    case(tmp_path, text)
    done = mlctl("test")
    assert (done.code, said in done.err, "own.test.yml:2:" in done.err) == (1, True, True)


def test_a_folder_without_cases_is_an_error(mlctl: Run) -> None:
    done = mlctl("test")
    assert (done.code, "there are no cases in ." in done.err) == (1, True)


def test_a_change_of_a_file_runs_the_cases_again(
    mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case(tmp_path, "  - {name: it is so, files: [cpu.yml]}\n")
    looks = iter([lambda: None, lambda: (tmp_path / "more.yml").write_text("a: b\n"), None])

    def look(_seconds: float) -> None:
        act = next(looks)
        if act is None:
            raise KeyboardInterrupt
        act()

    monkeypatch.setattr("time.sleep", look)
    done = mlctl("test", "--watch")
    assert (done.code, done.out.count("1 of 1 passed")) == (0, 2)
