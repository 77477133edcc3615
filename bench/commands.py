"""Commands of mlctl beside those of other programs, each a process of its own.

A row is a command of ours and one of a peer (or of ours, of another size), run in turns; medians
count. More peers: MLCTL_BENCH_PEERS=DIR, a virtual environment with azure-ai-ml and
check-jsonschema.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from bench import mixed
from bench.figure import Effort, Figure, absent, at_most, beside, told

ROOT = Path(__file__).parents[1]
SCHEMA = ROOT / "schemas" / "amlCompute.schema.json"
MANY, TEN_TIMES, HUNDRED_TIMES = 1_000, 10_000, 100_000
# Clusters in a folder, by its name.
SIZES = {"one": 1, "many": MANY, "ten": TEN_TIMES, "hundred": HUNDRED_TIMES}
MOST_MEMORY = 400  # MB, of any command with 10 000 clusters
CLUSTER = """\
$schema: https://azuremlschemas.azureedge.net/latest/amlCompute.schema.json
name: {name}
type: amlcompute
size: Standard_D4ds_v5
tier: low_priority
min_instances: 0
max_instances: {most}
idle_time_before_scale_down: 120
tags:
  team: ds
"""
RESOURCE = """\
resource "terraform_data" "cluster" {{
  count = {count}
  input = {{
    name = "c${{count.index}}x", size = "Standard_D4ds_v5", tier = "low_priority",
    min_instances = 0, max_instances = 2 + count.index % 5, tags = {{ team = "ds" }}
  }}
}}
"""
BLOCK = """\
resource "terraform_data" "c{number}" {{
  input = {{
    name = "c{number}x", size = "Standard_D4ds_v5", tier = "low_priority",
    min_instances = 0, max_instances = 2, tags = {{ team = "ds" }}
  }}
}}
"""
PLENTY = ("--computes", "99999", "--dedicated-cores", "9999999", "--low-priority-cores", "9999999")


@dataclass(frozen=True)
class Command:
    """What is run: its words, where, and what must be so before each run."""

    words: Sequence[str | Path]
    folder: Path
    before: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Row:
    """A line of the table: ours beside theirs, and the ratio that is aimed at.

    `theirs` makes the peer ready, where there is one, and says how it is run.
    """

    what: str
    peer: str
    target: float
    ours: Command
    theirs: Callable[[], Command | None]
    once: Literal["ours", "theirs"] | None = None  # what takes long and varies little


@dataclass(frozen=True)
class Run:
    """Seconds of the clock and of the processor, and the most memory in MB."""

    seconds: float
    memory: float
    processor: float


def figures(scratch: Path, word: str, effort: Effort) -> Iterator[Figure]:
    """The rows that have a word in their name."""
    for row in rows(scratch, effort):
        if word in row.what:
            yield figure(row, effort.runs)
    name = f"plan {HUNDRED_TIMES:,}, all new"
    if effort.long and word in name:
        plan = measured(mlctl(scratch / "hundred", "plan", "."))
        yield replace(at_most(name, plan.memory, "MB", 1000), note=told(plan.seconds))


def figure(row: Row, runs: int) -> Figure:
    """A row, measured now."""
    peer = row.theirs()
    ours, theirs = [], []
    for turn in range(runs):
        if turn == 0 or row.once != "ours":
            ours.append(measured(row.ours))
        if peer is not None and (turn == 0 or row.once != "theirs"):
            theirs.append(measured(peer))
    if peer is None:
        return absent(row.what, told(median(ours)), row.peer)
    found = beside(row.what, median(ours), median(theirs), row.peer, row.target)
    if f"{TEN_TIMES:,}" not in row.what:
        return found
    memory = max(one.memory for one in ours)
    fits = bool(found.met) and memory < MOST_MEMORY
    return replace(found, met=fits, note=f"{memory:.0f} MB of {MOST_MEMORY}")


def measured(command: Command) -> Run:
    """One run of a command; it must end well."""
    command.before()
    clean = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("MLCTL", "TF_", "PYTHONDONTWRITE"))
    }
    # No configuration of this user's: its region may have no prices.
    configured = dict.fromkeys(("XDG_CONFIG_HOME", "AZURE_CONFIG_DIR"), str(command.folder))
    variables = clean | configured | {"PYTHONPATH": str(ROOT), "TF_IN_AUTOMATION": "1"}
    started = time.perf_counter()
    process = subprocess.Popen(
        [str(word) for word in command.words],
        cwd=command.folder,
        env=variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(map(str, command.words))}: exit code {process.returncode}")
    return Run(seconds, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime)


def median(runs: Sequence[Run]) -> float:
    return statistics.median(one.seconds for one in runs)


def rows(scratch: Path, effort: Effort) -> Iterator[Row]:
    """The table of the targets."""
    one, many, ten = (scratch / name for name in ("one", "many", "ten"))
    file = one / "c00000x.yml"
    passing = Command((sys.executable, "-c", "pass"), scratch)
    yield Row("--version", "python -c pass", 8, mlctl(one, "--version"), lambda: passing)
    validate = mlctl(one, "validate", file)
    name = "validate one file, cold"
    yield Row(name, "azure.ai.ml load_compute", 0.08, validate, lambda: azure(file))
    yield Row(name, "check-jsonschema", 0.4, validate, lambda: checker(one))
    name, validate = f"validate {MANY:,} files", mlctl(many, "validate", ".")
    yield Row(name, "check-jsonschema", 0.25, validate, lambda: checker(many))
    yield Row(name, "terraform validate", 1, validate, lambda: terraform(many, "validate"))
    name = f"validate {MANY:,} of ten kinds"
    validate_mixed = mlctl(scratch / "mixed", "validate", ".")
    yield Row(name, "check-jsonschema, one kind", 0.4, validate_mixed, lambda: checker(many))
    sample = ROOT / "samples" / "low-priority-batch"
    name = "simulate, 1,000 runs, cold"
    work = ("--files", "100", "--seconds-per-file", "8", "--runs", "1000")
    simulate = mlctl(one, "simulate", sample, *work)
    yield Row(name, "azure.ai.ml load_compute", 0.3, simulate, lambda: azure(file))
    apply, plan = applying(many), planning(many)
    name = f"apply {MANY:,} clusters"
    yield Row(name, "terraform apply", 0.05, apply, lambda: terraform(many, "apply"), once="theirs")
    name = f"plan {MANY:,}, nothing to do"
    yield Row(name, "terraform plan", 0.15, plan, lambda: terraform(many, "plan"))
    if effort.quick:
        return
    peer, all_of_ten = f"mlctl, {MANY:,}", mlctl(ten, "validate", ".")
    yield Row(f"validate {TEN_TIMES:,} files", peer, 11, all_of_ten, lambda: validate, once="ours")
    name = f"apply {TEN_TIMES:,} clusters"
    yield Row(name, peer, 11, applying(ten), lambda: apply, once="ours")
    name = f"plan {TEN_TIMES:,}, nothing to do"
    yield Row(name, peer, 11, planning(ten), lambda: plan, once="ours")


def mlctl(folder: Path, *words: str | Path, before: Callable[[], None] = lambda: None) -> Command:
    """A command of ours in a folder, which is filled with clusters where there is none."""

    def ready() -> None:
        filled(folder)
        before()

    return Command((sys.executable, "-m", "mlctl", *words), folder, ready)


def planning(folder: Path) -> Command:
    """A plan in a workspace where everything is as the files say."""

    def applied_once() -> None:
        if not (folder / ".mlctl").exists():
            measured(applying(folder))

    return mlctl(folder, "plan", ".", before=applied_once)


def applying(folder: Path) -> Command:
    """An apply to an empty workspace."""

    def emptied() -> None:
        shutil.rmtree(folder / ".mlctl", ignore_errors=True)
        measured(mlctl(folder, "local", "quota", "set", *PLENTY))

    return mlctl(folder, "apply", ".", "--yes", before=emptied)


def terraform(folder: Path, verb: str) -> Command | None:
    """The same of as many `terraform_data`, which need no provider: no network is asked."""
    program = shutil.which("terraform")
    if program is None:
        return None
    validating = verb == "validate"
    home = folder.parent / ("terraform-blocks" if validating else "terraform")
    if not home.exists():
        home.mkdir()
        blocks = "".join(BLOCK.format(number=number) for number in range(MANY))
        (home / "main.tf").write_text(blocks if validating else RESOURCE.format(count=MANY))
        measured(Command((program, "init", "-no-color"), home))
    if validating:
        return Command((program, "validate", "-no-color"), home)
    apply = Command((program, "apply", "-auto-approve", "-no-color"), home)
    if verb == "plan":
        if not (home / "terraform.tfstate").exists():  # the row of apply has left its own
            measured(apply)
        return Command((program, "plan", "-no-color"), home)

    def emptied() -> None:
        for state in home.glob("terraform.tfstate*"):
            state.unlink()

    return Command(apply.words, home, emptied)


def checker(folder: Path) -> Command | None:
    program = found("check-jsonschema")
    if program is None:
        return None
    files = sorted(filled(folder).glob("*.yml"))
    return Command((program, "--schemafile", SCHEMA, *files), folder)


def azure(file: Path) -> Command | None:
    """The SDK's own reading of the file, in the first Python that has it."""
    filled(file.parent)
    script = f"from azure.ai.ml import load_compute; load_compute({str(file)!r})"
    for python in (found("python"), sys.executable):
        command = Command((str(python), "-c", script), file.parent)
        try:
            measured(command)
        except (SystemExit, OSError):
            continue
        return command
    return None


def found(program: str) -> str | None:
    """A program of the peers' environment, of this one, or of the machine."""
    peers = os.environ.get("MLCTL_BENCH_PEERS")
    folders = [*([f"{peers}/bin"] if peers else []), str(Path(sys.executable).parent)]
    return shutil.which(program, path=os.pathsep.join([*folders, os.environ["PATH"]]))


def filled(folder: Path) -> Path:
    """The folder with its clusters, one in each file; made when it is first needed."""
    if not folder.exists():
        folder.mkdir()
        if folder.name == "mixed":
            mixed.write(folder, MANY)
        for number in range(SIZES.get(folder.name, 0)):
            text = CLUSTER.format(name=f"c{number:05}x", most=2 + number % 5)
            (folder / f"c{number:05}x.yml").write_text(text)
    return folder
