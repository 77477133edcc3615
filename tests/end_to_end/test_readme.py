"""The README keeps its promises: CI runs the quick start, and tutorials print what they show.

`python -m tests.end_to_end.test_readme` writes into the tutorials what their commands print today.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.builders.paths import ROOT
from tests.builders.tour import tour

README = ROOT / "README.md"
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


def section(title: str) -> str:
    """The text under a heading of the second level."""
    return README.read_text(encoding="utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_the_quick_start_is_two_blocks_of_one_line() -> None:
    blocks = BLOCK.findall(section("Quick start"))
    assert blocks == [("sh", "make demo\n"), ("sh", "make check\n")]


def test_ci_runs_the_second_block_of_the_quick_start() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    second_block = script[script.index("second_block() {") : script.index("minor_of()")]
    shown = subprocess.run(
        ["bash", "-c", f"{second_block}\nsecond_block"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert shown.stdout == "make check\n"


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "CHANGELOG.md",
        *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md")),
    ],
)
def test_every_link_leads_to_a_file(page: str) -> None:
    file = ROOT / page
    assert [
        link
        for link in LINK.findall(file.read_text(encoding="utf-8"))
        if not (file.parent / link).exists()
    ] == []


def played(page: Path, folder: Path) -> str:
    """The page as it should be. A tutorial begins in an empty folder, the tour in a clone."""
    if page.stem == "tour":
        shutil.copytree(ROOT / "samples", folder / "samples")
    return tour(page.read_text(encoding="utf-8"), folder)


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_page_shows_what_its_commands_print(page: Path, tmp_path: Path) -> None:
    if page.stem == "sdk-author":
        pytest.importorskip("azure.ai.ml")
        pytest.importorskip("uvicorn")
    assert played(page, tmp_path) == page.read_text(encoding="utf-8")


if __name__ == "__main__":
    for page in TUTORIALS:
        with tempfile.TemporaryDirectory() as scratch:
            page.write_text(played(page, Path(scratch)), encoding="utf-8")
