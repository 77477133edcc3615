"""docs/adding-a-kind.md is followed to the letter, in a copy of the tree, and the kind works."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders.paths import ROOT
from tests.builders.shell import environment

PAGE = ROOT / "docs" / "adding-a-kind.md"
BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"^`(?P<file>[\w./-]+)`[;:]", re.MULTILINE)


def blocks() -> Iterator[tuple[str, str, str]]:
    """The file that the page names last before each block, the block's language, and its text."""
    page = PAGE.read_text(encoding="utf-8")
    for block in BLOCK.finditer(page):
        *_, file = ["", *NAMED.findall(page[: block.start()])]
        yield file, block["language"], block["text"]


def patched(text: str, diff: str) -> str:
    """A text with the lines of a block: those with `+` follow those without."""
    lines = diff.splitlines()
    before = "\n".join(line[1:] for line in lines if line.startswith(" "))
    after = "\n".join(line[1:] for line in lines)
    assert text.count(before) == 1, f"the page shows a line that is not there once: {before}"
    return text.replace(before, after)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with the change that the page shows."""
    folder = tmp_path_factory.mktemp("tree")
    for name in ("mlctl", "schemas", "samples", "tests", "docs"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", folder)
    for file, language, text in blocks():
        if language == "sh":
            continue
        target = folder / file
        target.parent.mkdir(exist_ok=True)
        target.write_text(patched(target.read_text(), text) if language == "diff" else text)
    return folder


def ran(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = environment(tree, PYTHONPATH=str(tree), NO_COLOR="1")
    return subprocess.run(
        [sys.executable, *words], cwd=tree, env=env, capture_output=True, text=True, check=False
    )


def test_the_change_is_as_small_as_the_page_says(tree: Path) -> None:
    new = [file for file, language, _ in blocks() if language not in ("sh", "diff")]
    changed = {file for file, language, _ in blocks() if language == "diff"}
    assert len(new) == 4
    assert changed == {"mlctl/kinds/az.toml", "mlctl/kinds/kind.py"}
    assert all((tree / file).is_file() and not (ROOT / file).exists() for file in new)


@pytest.mark.slow
def test_the_commands_of_the_page_work(tree: Path) -> None:
    (script,) = (text for _, language, text in blocks() if language == "sh")
    said: dict[str, list[str]] = {}
    for line in script.splitlines():
        done = ran(tree, "-m", *line.split())
        assert done.returncode == 0, (line, done.stderr)
        said.setdefault(line, []).append(done.stdout)
    (planned, again) = said["mlctl plan samples/connections"]
    assert "connection/packages will be created" in planned
    assert again.startswith("No changes.")
    assert "PythonFeed" not in said["mlctl connection show -n packages"][0]
    assert "https://test.pypi.org/simple" in said["mlctl connection list -o table"][0]
    gone = ran(tree, "-m", "mlctl", "connection", "show", "-n", "packages")
    assert gone.returncode == 3


@pytest.mark.slow
def test_the_service_holds_the_kind_to_its_schema(tree: Path) -> None:
    create = ("-m", "mlctl", "connection", "create", "-n", "feed")
    bad = ran(tree, *create, "--type", "ftp", "--target", "https://host/")
    assert (bad.returncode, "git, python_feed" in bad.stderr) == (2, True)
    assert ran(tree, *create, "--type", "git", "--target", "https://host/a").returncode == 0
    other = ran(tree, *create, "--type", "python_feed", "--target", "https://host/a")
    assert "cannot be changed in place" in other.stderr


def test_the_emulator_serves_the_kind(tree: Path) -> None:
    program = """
from tests.builders.emulator import WS, world
here = world()
where = f"{WS}/connections/feed"
body = {"properties": {"category": "Git", "target": "https://host/a", "authType": "None"}}
assert here.put(where, body).status == 201
assert here.get(where).data["properties"]["target"] == "https://host/a"
assert here.get(f"{WS}/connections").names == ["feed"]
assert here.put(f"{WS}/connections/none", {"properties": {"category": "Git"}}).status == 400
assert here.ask("DELETE", where).status == 200
assert here.get(where).status == 404
"""
    done = ran(tree, "-c", program)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_tests_find_nothing_forgotten(tree: Path) -> None:
    options = ("-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header")
    files = ("tests/kinds/test_registry.py", "tests/schema/test_files.py")
    done = ran(tree, "-m", "pytest", *options, *(one for one in files if (tree / one).is_file()))
    assert done.returncode == 0, done.stdout[-2000:]
