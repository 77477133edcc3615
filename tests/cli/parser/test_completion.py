"""Completing a line: the words that can follow, as each shell wants them, and the scripts."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mlctl.cli.parser.arguments import UsageError
from mlctl.cli.parser.completion import SHELLS, answer, install, script
from mlctl.cli.run import run
from tests.builders.commands import command_tree

ROOT = command_tree()


def bash(line: str) -> list[str]:
    """The words that follow a line in bash."""
    environment = {
        "_MLCTL_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
    }
    return answer(ROOT, environment)[0].split()


def other(shell: str, line: str, **more: str) -> tuple[str, bool]:
    """What zsh or fish is told of a line."""
    asked = {"_MLCTL_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": line, **more}
    return answer(ROOT, asked)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("mlctl val", ["validate"]),
        ("mlctl compute cr", ["create"]),
        ("mlctl --backend azure compute cr", ["create"]),
        ("mlctl compute create --max", ["--max-instances"]),
        ("mlctl compute create --tier ", ["dedicated", "low_priority"]),
        ("mlctl compute create --tier d", ["dedicated"]),
        ("mlctl local preemption set --start a", ["any", "available"]),
        ("mlctl compute update --no-wait false --no-w", ["--no-wait"]),
        ("mlctl simulate tr", ["training"]),
        ("mlctl compute create --set a=1 b=2 --dry", ["--dry-run"]),
        ("mlctl compute create --name ", []),
        ("mlctl compute create 'an open quote --d", []),
        ("mlctl frobnicate --xyz", []),
    ],
)
def test_bash_is_given_the_words_that_can_follow(line: str, words: list[str]) -> None:
    assert bash(line) == words


def test_a_value_that_is_a_file_is_left_to_the_shell() -> None:
    assert bash("mlctl validate sam") == []
    assert other("zsh", "mlctl validate sam") == ("_files", True)
    assert other("fish", "mlctl validate sam", _TYPER_COMPLETE_FISH_ACTION="is-args") == ("", False)


def test_zsh_is_given_words_with_what_they_mean() -> None:
    text, _ = other("zsh", "mlctl compute sh")
    meaning = "Show a compute cluster. Exits with 3 if it does not exist."
    assert text == f"""_arguments '*: :(("show":"{meaning}"))'"""


def test_fish_is_given_words_with_what_they_mean() -> None:
    text, has_words = other("fish", "mlctl local cl", _TYPER_COMPLETE_FISH_ACTION="get-args")
    assert (text, has_words) == ("", True)
    text, _ = other("fish", "mlctl valid", _TYPER_COMPLETE_FISH_ACTION="get-args")
    assert text.startswith("validate\t")
    asked = other("fish", "mlctl valid", _TYPER_COMPLETE_FISH_ACTION="is-args")
    assert asked == ("", True)


def test_a_shell_asks_the_program_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_MLCTL_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "mlctl compute cr")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert run([]) == 0
    assert capsys.readouterr().out == "create\n"
    monkeypatch.setenv("_MLCTL_COMPLETE", "source_zsh")
    assert run([]) == 0
    assert capsys.readouterr().out.strip() == script("zsh").strip()


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_the_users_shell_is_shown_and_installed(
    shell: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert run(["--show-completion"]) == 0
    assert capsys.readouterr().out == script(shell)
    assert run(["--install-completion"]) == 0
    assert f"{shell} completion installed in {tmp_path}" in capsys.readouterr().out
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert script(shell) in [path.read_text() for path in written]


def test_installing_twice_changes_a_startup_file_once(tmp_path: Path) -> None:
    startup = tmp_path / ".bashrc"
    startup.write_text("alias ll='ls -l'")
    place = install("bash", tmp_path)
    once = startup.read_text()
    assert once == f"alias ll='ls -l'\nsource '{place}'\n"
    install("bash", tmp_path)
    assert startup.read_text() == once


def test_a_shell_without_a_script_is_refused() -> None:
    with pytest.raises(UsageError, match="bash, zsh, fish"):
        script("tcsh")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_completes_a_line_by_the_script(tmp_path: Path) -> None:
    program = tmp_path / "mlctl"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m mlctl "$@"\n')
    program.chmod(0o755)
    line = (
        f"{script('bash')}\nCOMP_WORDS=(mlctl compute cr); COMP_CWORD=2;"
        f' _mlctl_completion {program}; echo "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout == "create\n"
