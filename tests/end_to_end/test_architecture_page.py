"""`docs/architecture.md` shows the tree as it is, and names classes that there are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders.paths import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "mlctl"
NO_ROOMS = {"__main__.py", "__init__.py"}


def drawn() -> set[str]:
    """The paths of the tree on the page, relative to `mlctl/`."""
    tree = re.search(r"```text\nmlctl/\n(.*?)```", PAGE, re.DOTALL)
    assert tree is not None
    found: set[str] = set()
    above: list[str] = []
    for line in tree[1].splitlines():
        name = line.split()[0]
        depth = (len(line) - len(line.lstrip())) // 2
        above[depth - 1 :] = [name]
        found.add("".join(above))
    return found


def real() -> Iterator[str]:
    """The folders of the package that have modules, and the modules at its top."""
    for module in PACKAGE.rglob("*.py"):
        relative = module.relative_to(PACKAGE)
        if relative.parent != Path():
            yield f"{relative.parent.as_posix()}/"
        elif module.name not in NO_ROOMS:
            yield module.name


def classes() -> set[str]:
    return {
        node.name
        for module in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    }


def test_the_tree_on_the_page_is_that_of_the_package() -> None:
    missing, gone = set(real()) - drawn(), drawn() - set(real())
    assert not missing, f"add to the tree in docs/architecture.md: {sorted(missing)}"
    assert not gone, f"remove from the tree in docs/architecture.md: {sorted(gone)}"


@pytest.mark.slow
def test_the_classes_that_the_page_names_are_there() -> None:
    named = set(re.findall(r"`([A-Z][A-Za-z]*[a-z][A-Za-z]*)`", PAGE))
    assert named
    assert named <= classes()


def test_the_modules_that_the_page_names_are_there() -> None:
    paths = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+)/?`", PAGE))
    named = {one for one in paths if (PACKAGE / one.partition("/")[0]).is_dir()}
    assert named
    wrong = [
        one
        for one in named
        if not (PACKAGE / one).is_dir() and not (PACKAGE / f"{one}.py").is_file()
    ]
    assert wrong == []


def test_the_page_is_short_and_linked() -> None:
    assert len(PAGE.splitlines()) < 230
    assert "docs/architecture.md" in (ROOT / "README.md").read_text(encoding="utf-8")
