"""The manual page: of every command, and without errors."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from docs.made import man
from tests.builders.commands import command_tree

ROOT = command_tree()


def test_every_command_is_in_the_manual() -> None:
    text = man.page(ROOT)
    names = [" ".join(node.path).replace("-", "\\-") for node in ROOT.commands()]
    assert all(f".TP\n\\fB{name}\\fR" in text for name in names)


@pytest.mark.skipif(shutil.which("groff") is None, reason="there is no groff here")
def test_the_manual_page_has_no_errors() -> None:
    line = ["groff", "-man", "-Tutf8", "-ww", "-b"]
    done = subprocess.run(line, input=man.page(ROOT).encode(), capture_output=True, check=True)
    assert b"batch" in done.stdout
    assert done.stderr == b""
