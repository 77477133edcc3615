"""What a resolver says becomes findings at the lines of an environment's files."""

from __future__ import annotations

import os
import shlex
import sys
import zipfile
from pathlib import Path

import pytest

from mlctl.config.rules.environments import PackageLine
from mlctl.diagnostics import Diagnostic, Label, Severity, SourceText, Span
from mlctl.running.model import RunError
from mlctl.running.resolution import failures, short

# A resolver of packages that have one version each: `NAME==VERSION`, and what it says of others.
UV = """\
import re, sys
answers = dict(line.split("|") for line in open({folder!r} + "/said").read().splitlines())
packages = open(sys.argv[-5]).read().splitlines()
overridden = {{line.split(";")[0] for line in open(sys.argv[-1]).read().splitlines()}}
open({folder!r} + "/listed", "w").write("\\n".join(packages))
open({folder!r} + "/here", "w").write(__import__("os").getcwd())
open({folder!r} + "/asked", "a").write(" ".join(sys.argv[1:]) + "\\n")
for line, sentence in answers.items():
    if set(line.split()) <= set(packages) and re.split("[=<> ]", line)[0] not in overridden:
        sys.exit("error: No solution found when resolving dependencies\\n  cause: " + sentence)
print("\\n".join(line if "==" in line else line + "==9" for line in packages))
"""


def lines(*texts: str) -> list[PackageLine]:
    """Packages of pip, or of conda after `conda `, each in a line of its own."""
    source = SourceText("c.yml", "\n".join(texts))
    return [
        PackageLine(
            text.removeprefix("conda "),
            Label(Span(source, number, 0, number, len(text))),
            text.startswith("conda "),
        )
        for number, text in enumerate(texts)
    ]


@pytest.fixture
def uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A uv that says what stands in a file `said` of this folder."""
    script, program = tmp_path / "uv.py", tmp_path / "uv"
    script.write_text(UV.format(folder=str(tmp_path)))
    words = shlex.join([sys.executable, str(script)])  # `#!` takes no path with a space
    program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def findings_of(folder: Path, answer: str, *texts: str) -> tuple[list[Diagnostic], list[str]]:
    """What is found in packages for Python 3.10, and the notes."""
    (folder / "said").write_text(answer)
    notes: list[str] = []
    return list(failures(lines(*texts), "3.10", folder, notes)), notes


def test_a_version_without_a_wheel_is_found_in_its_line_with_what_resolves(uv: Path) -> None:
    answer = (
        "scikit-learn==0.24.1|Because scikit-learn==0.24.1 has no usable wheels and you require"
        " scikit-learn==0.24.1, we can conclude that your requirements are unsatisfiable."
    )
    ((finding,), notes) = findings_of(uv, answer, "pandas==2", "scikit-learn==0.24.1")
    assert finding.primary is not None
    assert (finding.primary.span.line, finding.is_error) == (1, True)
    assert finding.message == (
        "for Python 3.10 on Linux: Because scikit-learn==0.24.1 has no usable wheels and you"
        " require scikit-learn==0.24.1"
    )
    assert finding.hint == "what resolves: `scikit-learn==9`"
    assert notes == []
    words = (uv / "asked").read_text()
    assert "--only-binary :all: --python-platform x86_64-unknown-linux-gnu" in words
    assert "--python-version 3.10" in words


def test_each_of_two_problems_is_found(uv: Path) -> None:
    answer = "a==1|Because a was not found and you require a==1\nb==1 c==1|Because b==1 needs c>1"
    findings, _ = findings_of(uv, answer, "a==1", "b==1", "c==1")
    assert [finding.hint for finding in findings] == [
        "what resolves: `a==9`",
        "what resolves: `b==9`, `c==9`",
    ]
    assert [label.span.line for label in findings[1].related] == [2]


def test_what_is_published_as_source_alone_is_a_note(uv: Path) -> None:
    answer = "pyspark|Because all versions of pyspark have no usable wheels and you require pyspark"
    findings, notes = findings_of(uv, answer, "pyspark", "pandas")
    assert findings == []
    assert notes == ["pyspark: published as source alone, which the image build compiles"]


def test_what_only_the_index_lacks_of_conda_is_a_warning(uv: Path) -> None:
    answer = (
        "gdal==3.*|Because gdal was not found in the package registry and you require gdal==3.*"
    )
    ((finding,), notes) = findings_of(
        uv, answer, "conda gdal=3", "conda libgomp", "conda python=3.10", "x"
    )
    assert finding.severity is Severity.WARNING
    assert notes == ["`libgomp` is not on the package index, and left out"]


def test_paths_are_not_asked_for_and_options_are(uv: Path) -> None:
    _, notes = findings_of(
        uv, "", "--extra-index-url https://e.example", "-e .", "x @ git+https://e/x"
    )
    assert len(notes) == 2
    assert "-e ." in notes[0]


@pytest.mark.parametrize(
    "text",
    [
        *("./evil", "evil/", "-e ./evil", "-r more.txt", "-c more.txt", "--no-binary :all:"),
        *(
            "x @ https://e.example/x.tar.gz",
            "x@file:evil",
            "https://e.example/x.zip",
            "git+ssh://e",
        ),
        *("--pre --no-binary :all:", "x\n-e ./evil", "--pre\n-e ./evil", "x\0", "--no-binary=x"),
        *(
            "x; extra == 'a' @ file:evil",
            "--prefer-binary",
            "-e.",
            "..",
            "x --no-binary=x",
            "x==1 --no-binary=x",
            "-i https://e.example --no-binary=x",
        ),
    ],
)
def test_nothing_that_would_be_built_is_asked_for(uv: Path, text: str) -> None:
    _, notes = findings_of(uv, "", "numpy", text)
    assert notes == [f"`{text}` is not on the package index, and left out"]
    assert (uv / "listed").read_text() == "numpy"


def test_a_resolver_does_not_run_in_the_folder_at_hand(uv: Path) -> None:
    findings_of(uv, "", "numpy")
    assert (uv / "here").read_text() != str(uv)


def test_an_index_that_does_not_answer_is_no_finding(uv: Path) -> None:
    answer = "x|error: Failed to fetch: https://pypi.org/simple/x/ (error sending request for url)"
    with pytest.raises(RunError, match="does not answer"):
        findings_of(uv, answer, "x")


def test_a_long_sentence_is_cut() -> None:
    text = short("Because " + "a depends on b, " * 60)
    assert len(text) <= 303
    assert text.endswith("...")


def wheel(
    folder: Path, name: str, version: str, needs: str = "", tag: str = "py3-none-any"
) -> None:
    """A wheel with nothing in it."""
    meta = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-{tag}.whl", "w") as archive:
        needed = f"Requires-Dist: {needs}\n" if needs else ""
        head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needed}"
        archive.writestr(f"{meta}/METADATA", head)
        archive.writestr(f"{meta}/WHEEL", f"Wheel-Version: 1.0\nTag: {tag}\n")
        archive.writestr(f"{meta}/RECORD", "")


@pytest.mark.slow
def test_pip_resolves_where_uv_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlctl.running.resolution.shutil.which", lambda _name: None)
    for name, version, needs in (
        ("one", "1.0", "two>=2"),
        ("one", "2.0", ""),
        ("two", "1.0", ""),
        ("two", "2.0", ""),
    ):
        wheel(tmp_path, name, version, needs)
    wheel(tmp_path, "three", "1.0", tag="cp310-cp310-manylinux_2_28_x86_64")
    index = ("--no-index", f"--find-links {tmp_path}")
    assert list(failures(lines(*index, "one==1.0", "three==1.0"), "3.10", tmp_path, [])) == []
    (finding,) = failures(lines(*index, "one==1.0", "two==1.0"), "3.10", tmp_path, [])
    assert "Cannot install one==1.0 and two==1.0" in finding.message
    assert finding.hint == "what resolves: `one==2.0`, `two==2.0`"
    lacking = [*index, "two==1.0", "no-such-package"]
    (finding,) = failures(lines(*lacking), "3.10", tmp_path, [])
    assert finding.severity is Severity.WARNING  # it may be published as source alone
    assert finding.primary is not None
    assert finding.primary.span.line == len(lacking) - 1
