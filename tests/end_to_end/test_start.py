"""How commands start: what they import, and what they say to nothing."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from mlctl import __version__
from tests.builders.paths import ROOT
from tests.builders.shell import Run, cluster, finish, start

# The names of all imported modules, as the last line of stderr.
PROBE = "import atexit, sys\natexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
HEAVY = {
    "azure",
    "msrest",
    "marshmallow",
    "starlette",
    "uvicorn",
    "cryptography",
    "rich",
    "jmespath",
    "asyncio",
}
COMMANDS = [
    ("--version",),
    ("--help",),
    ("validate", "cpu.yml"),
    ("plan", "cpu.yml"),
    ("apply", "cpu.yml", "--yes"),
    ("compute", "list"),
    ("explain", "compute.tier"),
]


def imported(folder: Path, *arguments: str) -> set[str]:
    """The packages that a command has imported when it ends."""
    (folder / "sitecustomize.py").write_text(PROBE)
    done = finish(start(folder, *arguments))
    assert done.code == 0
    return {name.partition(".")[0] for name in done.err.splitlines()[-1].split()}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_imports_what_it_does_not_need(tmp_path: Path, command: tuple[str, ...]) -> None:
    cluster(tmp_path / "cpu.yml")
    assert imported(tmp_path, *command) & HEAVY == set()


def test_the_version_is_told_before_anything_is_imported(tmp_path: Path) -> None:
    assert finish(start(tmp_path, "--version")).out == f"mlctl {__version__}\n"
    assert imported(tmp_path, "--version") & {"yaml", "jsonschema", "sqlite3"} == set()


def test_validate_needs_no_database(tmp_path: Path) -> None:
    cluster(tmp_path / "cpu.yml")
    assert "sqlite3" not in imported(tmp_path, "validate", "cpu.yml")


def test_validate_opens_no_connection(tmp_path: Path) -> None:
    cluster(tmp_path / "cpu.yml")
    network = {"socket", "ssl", "http", "urllib3", "requests", "httpx"}
    assert imported(tmp_path, "validate", "cpu.yml") & network == set()


def test_mlctl_needs_few_packages_and_no_major_version_that_nobody_has_tried() -> None:
    described = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {one: re.split(r"[<>=]", one)[0] for one in described["dependencies"]}
    assert set(named.values()) == {"pyyaml", "jsonschema", "rich", "jmespath"}
    for one in (*named, *described["optional-dependencies"]["azure"]):
        assert re.fullmatch(r"[a-z-]+>=[\d.]+,<\d+", one), one


@pytest.mark.parametrize("group", ["compute", "batch-endpoint", "model", "local", "schema"])
def test_a_group_alone_is_its_help_and_wrong_usage(mlctl: Run, group: str) -> None:
    done = mlctl(group)
    assert (done.code, done.out) == (2, mlctl(group, "--help").out)


def test_python_m_mlctl_is_mlctl(tmp_path: Path) -> None:  # as `start` runs it
    assert finish(start(tmp_path, "schema", "list")).out.splitlines()[0] == "amlCompute"
