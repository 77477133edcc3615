"""What an environment's files say becomes packages of a virtual environment."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import pytest

from mlctl.running.environments import Requirements, requirements
from mlctl.running.model import EnvironmentSource, RunError
from tests.builders.shell import Run

SCHEMA = "https://azuremlschemas.azureedge.net/latest/commandJob.schema.json"
CONDA = """\
channels: [conda-forge]
dependencies:
  - python=3.10.4
  - pip=25.1
  - numpy=1.26
  - conda-forge::scipy==1.11.1
  - pandas>=2,<3
  - pytorch=2.1.*
  - joblib=1.3.2=py310_0
  - cudatoolkit=11.8
  - libgomp
  - scikit-learn
  - pip:
      - mlflow==2.9.2
"""


def test_conda_s_packages_are_named_as_the_package_index_has_them(tmp_path: Path) -> None:
    (tmp_path / "conda.yml").write_text(CONDA)
    environment = EnvironmentSource("e", {"conda_file": "conda.yml"}, tmp_path)
    assert requirements(environment) == Requirements(
        "e",
        tmp_path,
        "3.10",
        (
            *("numpy==1.26.*", "scipy==1.11.1", "pandas>=2,<3", "torch==2.1.*", "joblib==1.3.2.*"),
            *("scikit-learn", "mlflow==2.9.2"),
        ),
        ("cudatoolkit=11.8", "libgomp"),
    )


def test_the_requirements_beside_a_dockerfile_are_those_of_its_environment(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("# ours\nnumpy==1.26 # pinned\n\n")
    parsed = requirements(EnvironmentSource("e", {"build": {"path": "."}}, tmp_path))
    assert parsed is not None
    assert parsed.packages == ("numpy==1.26",)


def test_an_image_alone_says_nothing_of_packages(tmp_path: Path) -> None:
    assert requirements(EnvironmentSource("e", {"image": "ubuntu"}, tmp_path)) is None


def test_a_conda_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot be read: No such file"):
        requirements(EnvironmentSource("e", {"conda_file": "no.yml"}, tmp_path))


def wheel(folder: Path) -> Path:
    """A wheel of a package `tiny_one` with nothing in it but a word."""
    file = folder / "tiny_one-1.0-py3-none-any.whl"
    meta = "tiny_one-1.0.dist-info"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("tiny_one.py", "WORD = 'from the wheel'\n")
        archive.writestr(
            f"{meta}/METADATA", "Metadata-Version: 2.1\nName: tiny_one\nVersion: 1.0\n"
        )
        archive.writestr(f"{meta}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{meta}/RECORD", "")
    return file


@pytest.mark.slow
def test_a_step_runs_in_the_environment_that_its_document_describes(
    mlctl: Run, tmp_path: Path
) -> None:
    wheel(tmp_path)
    python = f"python={sys.version_info[0]}.{sys.version_info[1]}"
    packages = [python, "libthing", {"pip": ["./tiny_one-1.0-py3-none-any.whl"]}]
    (tmp_path / "conda.yml").write_text(json.dumps({"dependencies": packages}))
    job = {
        "$schema": SCHEMA,
        "compute": "azureml:cpu",
        "command": "python -c 'import tiny_one; print(tiny_one.WORD)'",
        "environment": {"image": "ubuntu", "conda_file": "conda.yml"},
    }
    (tmp_path / "job.yml").write_text(json.dumps(job))
    lacking = mlctl("job", "run", "job.yml")
    assert lacking.code == 1
    assert "`tiny_one` is not installed in this Python" in lacking.err
    done = mlctl("job", "run", "job.yml", "--environments", "venv", "--stream")
    assert done.code == 0, done.err
    assert "job | from the wheel" in done.err
    assert "without libthing: no packages of Python" in done.err
    again = mlctl("job", "run", "job.yml", "--environments", "venv")
    assert again.code == 0
    assert "installing" not in again.err


@pytest.mark.slow
def test_an_environment_that_cannot_be_made_says_what_the_installer_said(
    mlctl: Run, tmp_path: Path
) -> None:
    conda = {"dependencies": [{"pip": ["./absent-1.0-py3-none-any.whl"]}]}
    (tmp_path / "conda.yml").write_text(json.dumps(conda))
    environment = {"image": "ubuntu", "conda_file": "conda.yml"}
    job = {
        "$schema": SCHEMA,
        "compute": "azureml:cpu",
        "command": "true",
        "environment": environment,
    }
    (tmp_path / "job.yml").write_text(json.dumps(job))
    done = mlctl("job", "run", "job.yml", "--environments", "venv")
    assert done.code == 1
    assert "cannot be made" in done.err
    assert "absent-1.0" in done.err


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        (
            "ERROR: Ignored versions: 1.0\nERROR: No matching distribution found for a==1",
            "No match",
        ),
        (
            "error: metadata-generation-failed\n\n\N{MULTIPLICATION SIGN} It failed.\n╰─> numpy",
            "It failed. numpy;",
        ),
        (
            "\N{MULTIPLICATION SIGN} No solution found:\n╰─▶ Because there is no a\n  nor b",
            "Because there is",
        ),
        ("", "it says nothing"),
    ],
)
def test_the_line_of_an_installer_that_says_why_is_shown(
    mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: str, reason: str
) -> None:
    uv = tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text(f"#!/bin/sh\ncat {tmp_path}/printed\nexit 1\n")
    uv.chmod(0o755)
    (tmp_path / "printed").write_text(printed)
    monkeypatch.setenv("PATH", str(uv.parent), prepend=":")
    job = {"$schema": SCHEMA, "compute": "azureml:cpu", "command": "true"}
    environment = {"image": "ubuntu", "conda_file": {"dependencies": [{"pip": ["a==1"]}]}}
    (tmp_path / "job.yml").write_text(json.dumps({**job, "environment": environment}))
    done = mlctl("job", "run", "job.yml", "--environments", "venv")
    assert done.code == 1
    assert reason in done.err
