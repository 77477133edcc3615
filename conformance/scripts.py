"""Run the shell scripts of a folder with the `az` of mlctl, and tell where each of them ends."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

TIMEOUT = 300  # seconds that a script may take
_LEFT_OUT = ("MLCTL_", "AZURE_", "ARM_")  # variables that would lead to another cloud
# What bash reads before a script: a failure is counted but where the script takes it, as in
# `az ... || true` and `if az ...`, which is where bash itself calls no trap.
_COUNTING = """\
set -E
trap '[[ ${FUNCNAME[0]} == az ]] && echo 1 >> "$AZ_FAILURES"' ERR
az() { echo 1 >> "$AZ_CALLS"; command az "$@"; }
"""


@dataclass(frozen=True, slots=True)
class ScriptEnd:
    """Where a script ended: its exit code (None: it took too long), and what it said last.

    Of `ran` commands of az in it `failed` did, those aside whose failure the script takes itself.
    """

    script: Path
    code: int | None
    ran: int
    failed: int
    last: str

    @property
    def passed(self) -> bool:
        """Whether it ended with 0 and no `az` in it was refused or failed."""
        return self.code == 0 and not self.failed


def run_folder(folder: Path, *, timeout: float = TIMEOUT) -> Iterator[ScriptEnd]:
    """Run each script `*.sh` of a folder on a copy of the folder and a fresh local workspace.

    A script runs in its own folder, or in the one above it that has the most of the files that it
    names by relative paths: published ones are written for either.
    """
    for script in sorted(folder.rglob("*.sh")):
        with tempfile.TemporaryDirectory(prefix="mlctl-scripts-") as scratch:
            copied = Path(scratch, "files")
            shutil.copytree(folder, copied)
            yield _run(script.relative_to(folder), Path(scratch), timeout)


def table(ends: Iterable[ScriptEnd]) -> str:
    """The ends of scripts as lines of text: exit code, commands of az, what it said last."""
    rows = list(ends)
    width = max((len(str(end.script)) for end in rows), default=0)
    lines = [f"{'script':{width}}  exit  az  failed  ends with"]
    for end in rows:
        code = "time" if end.code is None else str(end.code)
        numbers = f"{code:>4}  {end.ran:>2}  {end.failed:>6}"
        lines.append(f"{end.script!s:{width}}  {numbers}  {end.last}".rstrip())
    passed = sum(end.passed for end in rows)
    return "\n".join([*lines, f"{passed} of {len(rows)} scripts ran to their end"])


def _run(script: Path, scratch: Path, timeout: float) -> ScriptEnd:
    calls, failures = scratch / "az-calls", scratch / "az-failures"
    environment = {**_environment(scratch), "AZ_CALLS": str(calls), "AZ_FAILURES": str(failures)}
    try:
        ended = subprocess.run(  # noqa: S603 - the scripts of a folder that the user named
            ["bash", str(scratch / "files" / script)],  # noqa: S607 - bash as the user has it
            cwd=_working_folder(scratch / "files", script),
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
        code, errors = ended.returncode, ended.stderr
    except subprocess.TimeoutExpired:
        code, errors = None, f"it was stopped after {timeout:g} s"
    ran, failed = (len(log.read_text().split()) if log.exists() else 0 for log in (calls, failures))
    last = "" if code == 0 and not failed else _last(errors)
    return ScriptEnd(script, code, ran, failed, last)


def _environment(scratch: Path) -> Mapping[str, str]:
    """A home and a local cloud of the script's own, and the `az` of mlctl, which is counted."""
    home, shim, counting = scratch / "home", scratch / "bin", scratch / "counting.sh"
    home.mkdir()
    counting.write_text(_COUNTING)
    command = [sys.executable, "-P", "-m", "mlctl", "az-shim", "--install", str(shim)]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own
    kept = {name: text for name, text in os.environ.items() if not name.startswith(_LEFT_OUT)}
    return {
        **kept,
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "PATH": os.pathsep.join([str(shim), kept.get("PATH", os.defpath)]),
        "BASH_ENV": str(counting),
        "MLCTL_BACKEND": "local",
        "MLCTL_LOCAL_DB": str(scratch / "local.db"),
    }


def _working_folder(folder: Path, script: Path) -> Path:
    """The script's own folder, else the nearest one above with most of the files that it names."""
    words = (folder / script).read_text(errors="replace").split()
    paths = {word.strip("\"';") for word in words if word.endswith((".yml", ".yaml", ".json"))}
    places = [folder / parent for parent in script.parents]
    return max(places, key=lambda place: sum((place / path).exists() for path in paths))


def _last(errors: str) -> str:
    """The last line that tells of an error, else the last one."""
    lines = [line.strip() for line in errors.splitlines() if line.strip() and line[0] != "+"]
    wrong = [line for line in lines if "ERROR" in line] or lines
    return wrong[-1][:160] if wrong else ""
