"""The README keeps its promises: CI runs the quick start, and the tour prints what it shows.

`python -m tests.end_to_end.test_readme` writes into the README what the
tour's commands print today.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders.paths import ROOT
from tests.builders.shell import environment, program

README = ROOT / "README.md"
CONSOLE = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


def section(title: str) -> str:
    """The text under a heading of the second level."""
    return README.read_text(encoding="utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]


def tour(text: str, folder: Path) -> str:
    """`text` with the output of every console block as the commands print it now, in `folder`."""
    shutil.copytree(ROOT / "samples", folder / "samples")
    program(folder / "bin")
    return CONSOLE.sub(lambda block: "".join(_played(block[0], folder)), text)


def _played(block: str, folder: Path) -> Iterator[str]:
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    for command in re.findall(r"^\$ (.*)\n", block, re.MULTILINE):
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=environment(folder) | {"PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        yield f"$ {command}\n"
        yield "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


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


@pytest.mark.slow
def test_the_tour_prints_what_the_readme_shows(tmp_path: Path) -> None:
    assert tour(README.read_text(encoding="utf-8"), tmp_path) == README.read_text(encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        README.write_text(tour(README.read_text(encoding="utf-8"), Path(scratch)))
