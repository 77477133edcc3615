"""Plug-ins of a project: what they find, and what becomes of those that are broken."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.paths import SAMPLES
from tests.builders.shell import Run, cluster, edit

SCOPE = ("--subscription", "s", "-g", "g", "-w", "w")
RULE = """
from mlctl.diagnostics import Diagnostic, Rule, Severity
OWN = Rule("OWN001", "own", Severity.ERROR, "", "", "")
OTHER = Rule("OWN002", "other", Severity.ERROR, "", "", "")
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the sample is installed."""
    folder = tmp_path_factory.mktemp("house")
    source = shutil.copytree(SAMPLES / "plugin", folder / "source")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder / "site")]
    offline = ["--no-deps", "--no-build-isolation", "--no-index", str(source)]
    done = subprocess.run([*pip, *offline], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"pip cannot install a package here: {done.stderr.strip()}")
    return folder / "site"


@pytest.fixture
def project(house: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that names the sample, and has two clusters."""
    add_site(house, monkeypatch)
    (tmp_path / "mlctl.yml").write_text("plugins: [house]\n")
    cluster(tmp_path / "first.yml", size="Standard_D4ds_v5")
    cluster(tmp_path / "second.yml", size="Standard_D2ds_v5")
    return tmp_path


def add_site(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a folder be the site-packages of this interpreter."""
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr("site.getsitepackages", lambda: [str(folder)])


def install(
    folder: Path, monkeypatch: pytest.MonkeyPatch, code: str, value: str = "", group: str = "rules"
) -> None:
    """A package `acme 2.1` with a plug-in `acme`, which `mlctl.yml` names."""
    module = f"acme_{abs(hash((str(folder), code)))}"
    about = folder / "site" / "acme-2.1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 2.1\n")
    (about / "entry_points.txt").write_text(f"[mlctl.{group}]\nacme = {module}{value}\n")
    (folder / "site" / f"{module}.py").write_text(code)
    add_site(folder / "site", monkeypatch)
    (folder / "mlctl.yml").write_text("project: p\nplugins: [acme]\n")
    cluster(folder / "cpu.yml")


def test_rules_of_a_package_find_what_they_are_for(mlctl: Run, project: Path) -> None:
    done = mlctl("validate", "first.yml", "second.yml")
    said = (
        "warning[HOUSE001]: compute/first has another size, Standard_D4ds_v5\n --> second.yml:4:7\n"
    )
    assert (done.code, said in done.out) == (0, True)
    assert mlctl("validate", "first.yml", "second.yml", "--strict").code == 1
    for word in ("HOUSE001", "one-size"):
        assert "HOUSE" not in mlctl("validate", "first.yml", "second.yml", "--ignore", word).out
    edit(project / "second.yml", "_v5", "_v5  # mlctl:ignore=HOUSE001")
    assert "HOUSE" not in mlctl("validate", "first.yml", "second.yml").out


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("HOUSE001", None),
        ("one-size", None),
        ("house-keeps-no-nodes", None),
        ("HOUSE01", "did you mean `HOUSE001`?"),
        ("one-sise", "did you mean `one-size`?"),
        ("OTHER001", "docs/rules.md lists them"),
    ],
)
def test_a_project_ignores_rules_that_its_plugins_bring_and_no_others(
    mlctl: Run, project: Path, code: str, said: str | None
) -> None:
    (project / "mlctl.yml").write_text(f"plugins: [house]\nignore: [{code}]\n")
    done = mlctl("validate", "first.yml", "second.yml")
    assert done.code == (1 if said else 0)
    assert (said or "") in done.err
    assert code not in done.out


def test_policies_of_a_package_count_like_the_projects_own(mlctl: Run, project: Path) -> None:
    edit(project / "first.yml", "max_instances", "min_instances: 1\nmax_instances")
    done = mlctl("validate", "first.yml")
    assert (done.code, "error[house-keeps-no-nodes]" in done.out) == (1, True)
    assert mlctl("plan", "first.yml").code == 1
    twice = "plugins: [house]\nenvironments: {prod: {plugins: [house]}}\n"
    (project / "mlctl.yml").write_text(twice)
    assert "Found 1 error" in mlctl("validate", "first.yml", "--env", "prod").out
    (project / "mlctl.yml").write_text("environments: {prod: {plugins: [house]}, dev: {}}\n")
    assert mlctl("validate", "first.yml", "--env", "prod").code == 1
    assert mlctl("validate", "first.yml", "--env", "dev").code == 0


def test_a_rule_of_a_package_is_explained(mlctl: Run, project: Path) -> None:
    assert "share one quota" in mlctl("explain", "HOUSE001").out
    (project / "mlctl.yml").write_text("plugins: [absent]\n")
    assert "plugins:" in mlctl("explain", "MLC703").out
    (project / "mlctl.yml").unlink()
    assert mlctl("explain", "HOUSE001").code == 2
    assert "HOUSE" not in mlctl("validate", "first.yml", "second.yml").out


def test_a_backend_of_a_package_is_chosen_by_its_name(mlctl: Run, project: Path) -> None:
    assert mlctl("plan", "first.yml", "--backend", "frozen", *SCOPE).code == 0
    done = mlctl("apply", "first.yml", "--yes", "--backend", "frozen", *SCOPE)
    assert (done.code, "the house is closed" in done.err + done.out) == (1, True)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import nothing_such", "cannot be imported: ModuleNotFoundError: No module named"),
        ("RULES = ()", "has no `RULES` with a `check(graph, today)`"),
        ("RULES = [1]\ndef check(graph, today): return []", "has 1 among its `RULES`"),
        (
            RULE.replace("OWN001", "MLC001") + "RULES = [OWN]\ndef check(graph, today): return []",
            "has a rule MLC001: codes that begin with MLC are mlctl's",
        ),
        (
            RULE + "RULES = [OWN]\ndef check(graph, today): yield 1 / 0",
            "has a bug: ZeroDivisionError: division by zero",
        ),
        (
            RULE + "RULES = [OWN]\ndef check(graph, today): yield 7",
            "finds 7, which is not a Diagnostic",
        ),
        (
            RULE + "RULES = [OWN]\ndef check(graph, today): yield Diagnostic(OTHER, 'm', None)",
            "finds OWN002, which is not among its `RULES`",
        ),
    ],
)
def test_broken_rules_are_one_error_that_names_their_package(
    code: str, said: str, mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, code)
    for command in ("validate", "plan"):
        done = mlctl(command, "cpu.yml")
        text = " ".join((done.out + done.err).split())
        assert f"error[MLC703]: the plug-in `acme` of the package acme 2.1 {said}" in text
        assert (done.code, text.count("MLC703"), "mlctl.yml:2:11" in text) == (1, 1, True)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("FILES = 3", "must name policy files"),
        ("FILES = []", "must name policy files"),
        ("FILES = ['/nowhere/own.yml']", "names the missing file /nowhere/own.yml"),
    ],
)
def test_policies_that_are_not_there_are_one_error_too(
    code: str, said: str, mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, code, ":FILES", "policies")
    done = mlctl("validate", "cpu.yml")
    text = done.out + done.err
    assert (done.code, f"of the package acme 2.1 {said}" in text) == (1, True)


def test_a_backend_that_cannot_be_opened_names_its_package(
    mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, "def opened(scope): ...", ":opened", "backends")
    (tmp_path / "mlctl.yml").unlink()
    done = mlctl("plan", "cpu.yml", "--backend", "acme", *SCOPE)
    said = "the plug-in `acme` of the package acme 2.1 has a bug: TypeError: opened() takes 1"
    assert (done.code, said in done.err) == (1, True)


def test_a_plug_in_that_is_not_installed_is_an_error_at_its_name(mlctl: Run, project: Path) -> None:
    (project / "mlctl.yml").write_text("plugins: [hause]\n")
    done = mlctl("validate", "first.yml")
    said = "no installed package provides a plug-in `hause`"
    assert (done.code, said in done.err, "did you mean `house`?" in done.err) == (1, True, True)
