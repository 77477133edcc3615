"""What documents, file names, arguments and the service say is shown, and never obeyed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.jobs import Job
from mlctl.cli.az import jobs
from mlctl.cli.shell.global_args import GlobalArgs
from mlctl.cli.shell.scope import LOCAL_SCOPE
from mlctl.cli.shell.session import Session
from mlctl.kinds import Address
from mlctl.pointer import Data
from tests.builders.shell import CLUSTER, Done, Run, cluster, environment, finish, start
from tests.properties.test_inert import assert_inert

EVIL = "x\n::error::owned\n##vso[task.complete]\n##[error]z\x1b[2J\x9b2J\u202ey"
ENVIRONMENT = """\
$schema: https://azuremlschemas.azureedge.net/latest/environment.schema.json
name: e
version: 1
image: debian
"""
ON_A_LINE = EVIL.replace("\n", " ")


def assert_told(done: Done, code: int) -> None:
    """The command has said what the stranger says, and nothing obeys it."""
    assert done.code == code
    assert "owned" in done.out + done.err
    assert_inert(done.out)
    assert_inert(done.err)


def test_the_names_of_files_in_notes_are_not_obeyed(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    cluster(tmp_path / "in" / "cpu.yml")
    name = os.fsdecode(f"{EVIL.replace('/', '')}.yml".encode())
    (tmp_path / "in" / name).write_text("name: x\non: [push]\njobs: {}\n")
    for command in ("validate", "plan"):
        assert_told(mlctl(command, "in"), 0)


def test_the_workspace_of_a_project_file_is_not_obeyed(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "mlctl.yml").write_text(
        'workspace: "a\\n::error::owned\\n##vso[task.complete]\\e[2J"\n'
    )
    cluster(tmp_path / "cpu.yml")
    assert_told(mlctl("plan", "cpu.yml"), 0)


@pytest.mark.parametrize(
    "where", [("compute", "show", "-n", "cpu"), ("plan", "cpu.yml")], ids=" ".join
)
def test_the_errors_of_the_service_are_not_obeyed(
    mlctl: Run, tmp_path: Path, where: tuple[str, ...]
) -> None:
    cluster(tmp_path / "cpu.yml")
    said = ("--message", EVIL, "--code", EVIL, "--times", "0", "--status", "400")
    assert mlctl("local", "fault", "add", "fail", *said).code == 0
    assert_told(mlctl(*where), 1)


def test_a_conda_file_of_the_service_that_is_no_yaml_is_shown_as_text(
    mlctl: Run, tmp_path: Path
) -> None:
    text = "name: a\x1b[2Jb\x00\uffff owned\n"
    backend = LocalBackend(tmp_path / ".mlctl" / "local.db", LOCAL_SCOPE)
    body = {"properties": {"image": "ubuntu", "condaFile": text}}
    backend.put(Address("environment", "e", None, "1"), body).wait()
    backend.close()
    named = ("environment", "show", "-n", "e", "-v", "1")
    assert mlctl(*named).json["conda_file"] == text
    assert_told(mlctl(*named, "-o", "yaml"), 0)
    (tmp_path / "e.yml").write_text(ENVIRONMENT)
    done = mlctl("plan", "e.yml")
    assert (done.code, "already exists with another `image`" in done.err + done.out) == (1, True)
    assert mlctl("environment", "list", "-o", "table").code == 0


def test_the_errors_of_the_service_are_not_obeyed_by_debug(mlctl: Run) -> None:
    session_of = ("compute", "show", "-n", "cpu", "--debug", "--query", EVIL)
    assert_told(mlctl(*session_of), 2)


@pytest.mark.parametrize(
    "arguments",
    [(EVIL,), ("compute", EVIL), ("compute", "show", f"--{EVIL}"), ("compute", "list", EVIL)],
)
def test_the_arguments_in_usage_errors_are_not_obeyed(
    mlctl: Run, arguments: tuple[str, ...]
) -> None:
    assert_told(mlctl(*arguments), 2)


def test_the_keys_of_tags_that_are_not_effective_are_not_obeyed(mlctl: Run, tmp_path: Path) -> None:
    head = CLUSTER.format(name="cpu", size="Standard_D4ds_v5", most=2)
    (tmp_path / "cpu.yml").write_text(head)
    assert mlctl("apply", "cpu.yml", "--yes").code == 0
    tag = '"::error::owned\\n##vso[task.complete]\\e[2J"'
    (tmp_path / "cpu.yml").write_text(f"{head}tags:\n  {tag}: b\n")
    assert_told(mlctl("plan", "cpu.yml"), 0)
    assert_told(mlctl("plan", "cpu.yml", "-o", "markdown"), 0)
    assert_told(mlctl("plan", "cpu.yml", "-o", "json"), 0)
    assert mlctl("apply", "cpu.yml", "--yes").code == 0
    for form in ("json", "yaml", "table"):
        done = mlctl("compute", "show", "-n", "cpu", "-o", form)
        assert_inert(done.out)
    assert_told(mlctl("compute", "show", "-n", "cpu", "-o", "tsv", "--query", "keys(tags)"), 0)


def test_the_status_of_a_job_is_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    held: dict[str, Data] = {"status": EVIL, "run": {"reason": EVIL}}
    jobs.report_end(Session(GlobalArgs(), {"HOME": "/nowhere"}), Job(EVIL, {"properties": held}))
    said = capsys.readouterr()
    assert_inert(said.err)
    assert "owned" in said.err


HOSTILE = "import pathlib\npathlib.Path('ran').write_text('a stranger')\nraise SystemExit(99)\n"


@pytest.mark.slow
@pytest.mark.parametrize("module", ["mlctl/__main__.py", "typer.py", "multiprocessing/__init__.py"])
def test_no_module_of_the_folder_at_hand_runs(tmp_path: Path, module: str) -> None:
    (tmp_path / module).parent.mkdir(exist_ok=True)
    (tmp_path / module).write_text(HOSTILE)
    (tmp_path / "mlctl.yml").write_text("environments: {a: {}, b: {}}\n")
    cluster(tmp_path / "cpu.yml")
    (tmp_path / "home").mkdir()
    script = str(Path(sys.executable).with_name("mlctl"))
    shim = subprocess.run(
        [script, "az-shim", "--install", "bin"], cwd=tmp_path, check=False, capture_output=True
    )
    variables = environment(tmp_path / "home") | {"PYTHONPATH": ""}
    for words in (
        [script, "validate", "cpu.yml", "--env", "all"],
        [script, "validate", "cpu.yml", "--env", "a,b"],
        ["bin/az", "ml", "--help"],
    ):
        done = subprocess.run(
            words, cwd=tmp_path, env=variables, check=False, capture_output=True, text=True
        )
        assert (shim.returncode, done.returncode) == (0, 0), done.stdout + done.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.slow
def test_no_plug_in_of_the_folder_at_hand_runs(tmp_path: Path) -> None:
    about = tmp_path / "evil-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[mlctl.rules]\nevil = evil\n")
    (tmp_path / "evil.py").write_text(HOSTILE)
    (tmp_path / "mlctl.yml").write_text("plugins: [evil]\n")
    cluster(tmp_path / "cpu.yml")
    done = finish(start(tmp_path, "validate", "cpu.yml"))  # the folder is on PYTHONPATH
    assert "no installed package provides a plug-in `evil`" in done.out + done.err
    assert not (tmp_path / "ran").exists()
