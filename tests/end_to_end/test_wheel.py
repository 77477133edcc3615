"""The wheel holds everything that a run needs: built, installed alone, used in an empty folder."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.builders.paths import ROOT
from tests.builders.shell import environment

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this checkout without a network."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that holds the wheel; only its dependencies are lent by the running one."""
    home = tmp_path_factory.mktemp("env")
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    done = subprocess.run(
        [*pip, "--no-deps", "--no-index", str(wheel)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"pip cannot install a wheel here: {done.stderr.strip()}")
    # A path in a .pth file lends packages but not the .pth files beside them, so not the checkout.
    lent = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    site = next(home.glob("lib/python*/site-packages"))
    (site / "lent.pth").write_text("\n".join(sorted(lent)) + "\n")
    return home


@pytest.fixture
def run(installed: Path, tmp_path: Path) -> Run:
    """Run a program of that environment in an empty folder with a copy of samples/."""
    shutil.copytree(ROOT / "samples", tmp_path / "samples")
    variables = environment(tmp_path)
    del variables["PYTHONPATH"]  # the checkout

    def go(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [installed / "bin" / program, *arguments],
            cwd=tmp_path,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    return go


def test_every_schema_is_in_the_wheel(wheel: Path) -> None:
    shipped = {name for name in ZipFile(wheel).namelist() if name.startswith("mlctl/schemas/")}
    folder = ROOT / "schemas"
    files = (file for file in folder.rglob("*") if file.is_file())
    assert shipped == {f"mlctl/schemas/{file.relative_to(folder).as_posix()}" for file in files}


def test_the_wheel_brings_mlctl_alone(wheel: Path) -> None:
    parts = [Path(name).parts for name in ZipFile(wheel).namelist()]
    assert {part[0] for part in parts if not part[0].startswith("mlctl_azure-")} == {"mlctl"}
    assert not any("recorded" in part for part in parts)  # of conformance/


def test_the_installed_package_is_not_the_checkout(run: Run, installed: Path) -> None:
    where = run("python", "-c", "import mlctl; print(mlctl.__file__)").stdout
    assert Path(where).is_relative_to(installed)


@pytest.mark.slow
def test_the_main_job_runs_from_the_wheel_alone(run: Run) -> None:
    sample = "samples/low-priority-batch"
    assert run("mlctl", "validate", sample).returncode == 0
    assert "Plan: 4 to add, 0 to change, 0 to destroy." in run("mlctl", "plan", sample).stdout
    assert run("mlctl", "apply", sample, "--yes").returncode == 0
    assert run("mlctl", "plan", sample, "--detailed-exitcode").returncode == 0


@pytest.mark.slow
def test_pytest_finds_the_fixtures_of_the_wheel(run: Run) -> None:
    tests = "samples/testing/tests"
    done = run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "idle", tests)
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout + done.stderr


@pytest.mark.slow
def test_a_project_begins_from_the_wheel_alone(run: Run, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "samples")
    assert run("mlctl", "init", "training", "--to", "lines").returncode == 0
    written = {str(one.relative_to(tmp_path)) for one in (tmp_path / "lines").rglob("*.*")}
    assert written >= {"lines/mlctl.yml", "lines/env/prod.yml", "lines/src/train.py"}
    assert not any("__pycache__" in one for one in written)
    planned = run("mlctl", "plan", "lines", "--var", "stage=dev")  # mlctl.yml is not in this folder
    assert planned.returncode == 0
