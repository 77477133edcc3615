"""The manual page and the completions: of every command, and as the shells read them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

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


@pytest.mark.slow
@pytest.mark.parametrize(("shell", "name"), [("bash", "mlctl.bash"), ("zsh", "_mlctl")])
def test_the_completions_are_those_that_the_program_prints(shell: str, name: str) -> None:
    asked = {**os.environ, "_MLCTL_COMPLETE": f"source_{shell}"}
    code = "import sys; sys.argv[0] = 'mlctl'; import mlctl.cli as cli; cli.main()"
    line = [sys.executable, "-c", code]
    done = subprocess.run(line, env=asked, capture_output=True, text=True, check=False)
    assert done.stdout.split() == man.COMPLETIONS[name].split()
