"""Tests are found where their module is: `mlctl/x/y.py` is tested by `tests/x/test_y.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path

import pytest

from tests.builders.paths import ROOT, TESTS

# About no single module: every backend, laws, whole programs; and what tests are made with.
OWN_ROOMS = {"builders", "cases", "contract", "data", "docs", "end_to_end", "fuzz", "properties"}
OTHER_PACKAGES = frozenset({"conformance"})  # beside mlctl


def misplaced(tests: Path, package: Path, skipped: AbstractSet[str] = frozenset()) -> Iterator[str]:
    """One sentence for each test file or folder that mirrors nothing of `package`."""
    for folder in sorted({tests, *(file.parent for file in tests.rglob("*.py"))}):
        inside = folder.relative_to(tests)
        if inside.parts and inside.parts[0] in OWN_ROOMS | skipped:
            continue
        room = package / inside
        if not (room / "__init__.py").is_file():
            yield f"tests/{inside}: there is no {package.name}/{inside}/; move its tests"
            continue
        modules = {file.stem.strip("_") for file in room.glob("*.py")} | {room.name}
        for file in sorted(folder.glob("test_*.py")):
            named = file.stem.removeprefix("test_")
            if not any(re.fullmatch(rf"{module}(_\w+)?", named) for module in modules):
                yield (
                    f"tests/{inside / file.name}: {package.name}/{inside}/ has no module {named}; "
                    "rename it to test_MODULE.py or test_MODULE_ASPECT.py, or move it to "
                    "tests/end_to_end/"
                )


def test_every_test_is_where_its_module_is() -> None:
    assert list(misplaced(TESTS, ROOT / "mlctl", OTHER_PACKAGES)) == []


@pytest.mark.parametrize("package", OTHER_PACKAGES)
def test_every_test_of_another_package_is_where_its_module_is(package: str) -> None:
    assert list(misplaced(TESTS / package, ROOT / package)) == []


def test_a_test_without_a_module_is_named(tmp_path: Path) -> None:
    files = ("mlctl/__init__.py", "mlctl/a/__init__.py", "mlctl/a/b.py")
    tests = ("a/test_b.py", "a/test_b_slowly.py", "a/test_a.py", "a/test_bc.py", "c/test_b.py")
    for name in (*files, *(f"tests/{one}" for one in (*tests, "contract/test_all.py"))):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    found = [line.split(":")[0] for line in misplaced(tmp_path / "tests", tmp_path / "mlctl")]
    assert found == ["tests/a/test_bc.py", "tests/c"]
