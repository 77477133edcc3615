"""Pages whose console blocks are what the commands print, played in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.builders.shell import environment, program

# A console block; or a block with a title, which is the file that a reader saves it as.
_BLOCK = re.compile(
    r"(?P<head>```(?:console|\w+ title=\"(?P<file>[^\"]+)\")\n)(?P<body>.*?)(?=```)", re.DOTALL
)


def tour(text: str, folder: Path) -> str:
    """`text` with the output of every console block as the commands print it now, in `folder`."""
    program(folder / "bin")
    return _BLOCK.sub(lambda block: block["head"] + _followed(block, folder), text)


def _followed(block: re.Match[str], folder: Path) -> str:
    if block["file"] is None:
        return "".join(_played(block["body"], folder))
    file = folder / block["file"]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(block["body"], encoding="utf-8")
    return block["body"]


def _played(block: str, folder: Path) -> Iterator[str]:
    path = os.pathsep.join(
        [str(folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    )
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
