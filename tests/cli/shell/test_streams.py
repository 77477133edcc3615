"""What goes to stdout and what to stderr, and what happens when nobody reads them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.shell import (
    PLENTY,
    Done,
    Run,
    cluster,
    clusters,
    environment,
    finish,
    start,
)

DATA = [
    ("validate", "sample", "-o", "json"),
    ("validate", "sample", "-o", "sarif"),
    ("plan", "sample", "-o", "json"),
    ("plan", "sample", "--destroy", "-o", "json"),
    ("local", "status"),
    ("local", "quota", "list", "-o", "json"),
    ("local", "fault", "list", "-o", "json"),
    ("local", "advance", "1m", "-o", "json"),
    ("compute", "list"),
    ("compute", "show", "-n", "low-pri-cluster"),
    ("compute", "create", "-f", "sample/low-pri-cluster.yml"),
    ("batch-endpoint", "list"),
    ("batch-endpoint", "create", "-f", "sample/endpoint.yml"),
    ("batch-deployment", "list", "-e", "heart-classifier-batch"),
    ("batch-deployment", "create", "-f", "sample/deployment.yml"),
    ("model", "list"),
    ("model", "create", "-f", "sample/model.yml"),
    ("environment", "list"),
]


def shell(folder: Path, script: str) -> Done:
    """Run a line of bash, in which `mlctl` is this checkout's."""
    mlctl = 'mlctl() { "$PYTHON" -m mlctl "$@"; }; '
    variables = environment(folder, PYTHON=sys.executable)
    done = subprocess.run(
        ["bash", "-c", mlctl + script],
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("command", DATA, ids=" ".join)
def test_stdout_is_data_and_stderr_is_silent_when_only_errors_count(
    applied: Run, command: tuple[str, ...]
) -> None:
    done = applied(*command, "--only-show-errors")
    assert (done.code, done.err) == (0, "")
    assert done.json is not None


def test_the_flag_may_stand_before_the_verb(mlctl: Run, sample: Path) -> None:
    assert mlctl("--only-show-errors", "plan", "sample").err == ""


@pytest.mark.parametrize("verb", ["plan many", "plan many -o json", "explain compute", "--help"])
def test_a_reader_that_has_had_enough_is_no_error(tmp_path: Path, verb: str) -> None:
    clusters(tmp_path / "many", 10)
    done = shell(tmp_path, f"mlctl {verb} --only-show-errors | head -1; echo ${{PIPESTATUS[0]}}")
    assert (done.out.splitlines()[-1], done.err) == ("0", "")


def test_the_exit_code_is_the_verdict_also_when_nobody_reads_it(tmp_path: Path) -> None:
    (tmp_path / "bad.yml").write_text("".join(f"field{n}: {n}\n" for n in range(2000)))
    done = shell(tmp_path, "mlctl validate bad.yml | head -1; echo ${PIPESTATUS[0]}")
    assert (done.out.splitlines()[-1], done.err) == ("1", "")


def test_in_one_log_a_plan_stands_before_what_is_said_of_its_apply(tmp_path: Path) -> None:
    cluster(tmp_path / "infra" / "cpu.yml")
    process = start(tmp_path, "apply", "infra", "--yes", stderr=subprocess.STDOUT)
    log = finish(process).out
    told = ("Plan: 1 to add", "compute/cpu: Creating...", "Apply complete!")
    assert sorted(map(log.index, told)) == [log.index(one) for one in told]


@pytest.mark.slow
def test_an_apply_goes_on_when_nobody_reads_what_it_says(tmp_path: Path) -> None:
    clusters(tmp_path / "many", 40)
    script = f"mlctl {' '.join(PLENTY)}; mlctl apply many --yes 2>&1 | head -1"
    assert shell(tmp_path, script).err.count("\n") == 1  # of the first command
    listed = shell(tmp_path, "mlctl compute list --query 'length(@)'")
    assert listed.out == "40\n"


def test_a_full_disk_is_an_error_and_no_bug(tmp_path: Path) -> None:
    """A limit on the size of files fails a write as a full disk does, and harms nobody."""
    done = shell(tmp_path, "ulimit -f 0; mlctl explain compute > page.txt")
    assert (done.code, done.err) == (1, "ERROR: cannot write the output: File too large\n")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_a_closed_stream_is_no_error(tmp_path: Path, closed: str) -> None:
    cluster(tmp_path / "cpu.yml")
    done = shell(tmp_path, f"mlctl apply cpu.yml --yes {closed}")
    assert (done.code, "Traceback" in done.out + done.err) == (0, False)
    assert (tmp_path / ".mlctl" / "local.db").read_bytes()[:6] == b"SQLite"


def test_letters_that_the_terminal_lacks_are_spelt_out(tmp_path: Path) -> None:
    (tmp_path / "c.yml").write_text("é: ✗\n", encoding="utf-8")
    done = finish(start(tmp_path, "validate", "c.yml", env={"PYTHONIOENCODING": "ascii"}))
    assert (done.code, "\\xe9: \\u2717" in done.out) == (1, True)


def test_a_file_name_that_is_no_text_is_printed_all_the_same(tmp_path: Path) -> None:
    Path(os.fsdecode(bytes(tmp_path) + b"/\xff.yml")).write_text("name: [\n")
    done = finish(start(tmp_path, "validate", "."))
    assert (done.code, "Traceback" in done.err) == (1, False)
