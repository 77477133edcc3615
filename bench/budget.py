"""How much work commands do, counted: function calls and imported modules. `make budget`.

    python -m bench.budget [WORD]   only the rows whose name has WORD

No noise of a machine changes these numbers, so they are held exactly: a row above its budget in
bench/budgets.toml fails, and so does a budget that was raised (see `ratchet`). Each row is a whole
command, profiled in a process of its own; "per file" is the difference between N files and N/2, so
that the start stands apart. Counts differ between versions of Python: budgets are of 3.11, and of
others only the table is printed.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from bench import mixed, ratchet
from bench.commands import CLUSTER, PLENTY, ROOT

PYTHON = (3, 11)
FILES = 400
# Commands look for `.git` and `mlctl.yml` in every folder above: as deep on every machine.
SCRATCH = "/tmp" if Path("/tmp").is_dir() else None
SAMPLE = ROOT / "samples" / "low-priority-batch"
EXTRAS = ("azure", "uvicorn", "cryptography")
# Threads are profiled each on its own: the profiler of Python 3.11 sees only its own thread.
CHILD = """\
import cProfile, sys, threading
counts, *sys.argv[1:] = sys.argv[1:]
profiles = [cProfile.Profile()]
run = threading.Thread.run
def profiled(thread):
    profiles.append(profile := cProfile.Profile())
    profile.enable()
    try:
        run(thread)
    finally:
        profile.disable()
if sys.version_info < (3, 12):
    threading.Thread.run = profiled
code = 0
profiles[0].enable()
try:
    from mlctl.cli import main
    main()
except SystemExit as end:
    code = end.code
profiles[0].disable()
calls = 0
for profile in profiles:
    profile.create_stats()
    calls += sum(count for _, count, *_ in profile.stats.values())
modules = sum(name.partition(".")[0] == "mlctl" for name in sys.modules)
with open(counts, "w") as file:
    file.write(f"{calls} {modules}")
sys.exit(code)
"""


@dataclass(frozen=True)
class Work:
    """What a command does."""

    calls: int
    modules: int


@dataclass(frozen=True)
class Commands:
    """Commands of mlctl, run in a folder with a local workspace of its own."""

    folder: Path
    variables: Mapping[str, str]

    def run(self, *words: str) -> Work:
        """Run a command and count its work.

        Raises:
            SystemExit: it failed.
        """
        counts = self.folder / "counts"
        done = subprocess.run(
            [sys.executable, "-c", CHILD, str(counts), *words],
            cwd=self.folder,
            env={**environment(self.folder), **self.variables},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"mlctl {' '.join(words)}: {done.returncode}\n{done.stderr[-2000:]}")
        calls, modules = map(int, counts.read_text().split())
        return Work(calls, modules)


def environment(folder: Path) -> dict[str, str]:
    """The variables of a counted command: none of those of this machine but PATH."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": str(ROOT),
        "MLCTL_LOCAL_DB": str(folder / "local.db"),
        "NO_COLOR": "1",
        "AZURE_CORE_COLLECT_TELEMETRY": "no",
    }


def main() -> int:
    """Count, and print the table; 1 where a row is over its budget or a budget was raised."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("word", nargs="?", default="")
    word = parser.parse_args().word
    compileall.compile_dir(ROOT / "mlctl", quiet=2)  # else the first run compiles, and counts that
    budgets = ratchet.load()
    held = sys.version_info[:2] == PYTHON
    if not held:
        print(f"Python {sys.version_info[0]}.{sys.version_info[1]}: budgets are of 3.11, not held")
    over = False
    print(f"{'':40}{'counted':>12}{'budget':>12}")
    for row, count in measured(word):
        budget = budgets[row]
        exceeded = held and count > budget
        over |= exceeded
        print(f"{row:40}{count:>12,}{budget:>12,}{'   over' if exceeded else ''}", flush=True)
    refused = [*ratchet.raised()]
    print(*refused, sep="\n")
    return int(over or bool(refused))


def measured(word: str) -> Iterator[tuple[str, int]]:
    """The rows whose name has a word, and what was counted."""
    for topic, rows in TOPICS.items():
        if word in topic:
            with tempfile.TemporaryDirectory(dir=SCRATCH) as scratch:
                yield from rows(Path(scratch))


def single_commands(scratch: Path) -> Iterator[tuple[str, int]]:
    """Commands about one file, or a few."""
    mlctl = workspace(scratch, clusters, 1)
    for topic, words in {
        "--version": ("--version",),
        "validate one file": ("validate", "files/00000.yml"),
        "plan one file": ("plan", "files/00000.yml"),
        "simulate a sample": (
            *(
                "simulate",
                str(SAMPLE),
                "--files",
                "100",
                "--seconds-per-file",
                "8",
                "--runs",
                "1000",
            ),
        ),
    }.items():
        work = mlctl.run(*words)
        yield f"calls.{topic}", work.calls
        yield f"modules.{topic}", work.modules


def clusters_per_file(scratch: Path) -> Iterator[tuple[str, int]]:
    """What one more cluster costs each command."""
    commands = {
        "validate": ("validate", "files"),
        "apply": ("apply", "files", "--yes"),
        "plan, nothing to do": ("plan", "files"),
        "drift": ("drift", "files"),
    }
    return per_file(scratch, clusters, commands)


def project_per_file(scratch: Path) -> Iterator[tuple[str, int]]:
    """What one more cluster costs the commands of a project's team."""
    commands = {
        "apply of a project": ("apply", "files", "--yes"),
        "plan --prune": ("plan", "files", "--prune"),
        "export": ("export", "--to", "exported"),
    }
    return per_file(scratch, project, commands)


def ten_kinds(scratch: Path) -> Iterator[tuple[str, int]]:
    """What one more file costs where each is of another kind than the one before."""
    return per_file(scratch, mixed.write, {"validate ten kinds": ("validate", "files")})


def per_file(
    scratch: Path, write: Callable[[Path, int], None], commands: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, int]]:
    """What one more file costs each command, in calls; two workspaces at once."""

    def calls(count: int) -> list[int]:
        mlctl = workspace(scratch / str(count), write, count)
        return [mlctl.run(*words).calls for words in commands.values()]

    with ThreadPoolExecutor(2) as pool:
        many, few = pool.map(calls, (FILES, FILES // 2))
    for topic, most, least in zip(commands, many, few, strict=True):
        yield f"calls per file.{topic}", round((most - least) / (FILES / 2))


def azure(scratch: Path) -> Iterator[tuple[str, int]]:
    """A plan on the azure backend of a hundred files; the emulator's own work is not counted."""
    if not all(map(find_spec, EXTRAS)):
        print("plan on azure: skipped, the extras azure and emulator are not installed")
        return
    local = workspace(scratch, clusters, 100)
    local.run("apply", "files", "--yes")
    with emulator(scratch) as variables:
        work = Commands(scratch, variables).run("--backend", "azure", "plan", "files")
    yield "calls.plan 100 files on azure", work.calls
    yield "modules.plan 100 files on azure", work.modules


TOPICS: Mapping[str, Callable[[Path], Iterator[tuple[str, int]]]] = {
    "--version, validate and plan one file, simulate": single_commands,
    "per file: validate, apply, plan, drift": clusters_per_file,
    "per file of a project: apply, plan --prune, export": project_per_file,
    "validate ten kinds": ten_kinds,
    "plan on azure": azure,
}


def workspace(folder: Path, write: Callable[[Path, int], None], count: int) -> Commands:
    """A folder with `files/`, and a workspace of its own with room for all of them."""
    (folder / "files").mkdir(parents=True)
    write(folder / "files", count)
    commands = Commands(folder, {})
    commands.run("local", "quota", "set", *PLENTY)
    return commands


def clusters(folder: Path, count: int) -> None:
    """As many files with a cluster each."""
    for number in range(count):
        text = CLUSTER.format(name=f"c{number:05}x", most=2 + number % 5)
        (folder / f"{number:05}.yml").write_text(text)


def project(folder: Path, count: int) -> None:
    """As many clusters, which belong to a project."""
    clusters(folder, count)
    (folder.parent / "mlctl.yml").write_text("project: bench\n")


@contextmanager
def emulator(folder: Path) -> Iterator[Mapping[str, str]]:
    """An emulator of the local workspace; the variables that lead to it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "mlctl", "emulator", "start", "--json", "--db", "local.db"],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        started = json.loads(process.stdout.readline())
        yield {
            "ARM_CLOUD_METADATA_URL": f"{started['url']}/metadata/endpoints?api-version=2022-09-01",
            "REQUESTS_CA_BUNDLE": started["ca_file"],
            "IDENTITY_ENDPOINT": f"{started['url']}/msi/token",
            "IDENTITY_HEADER": "emulator",
            "AZURE_SUBSCRIPTION_ID": started["subscription"],
            "AZURE_DEFAULTS_GROUP": started["resource_group"],
            "AZURE_DEFAULTS_WORKSPACE": started["workspace"],
            "NO_PROXY": "127.0.0.1",
        }
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    sys.exit(main())
