"""The simulated cloud through the command line: one very large history, and idle time."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from statistics import median as median_of
from time import process_time

from bench.commands import PLENTY, ROOT, Command, Run, measured, median, mlctl
from bench.figure import Effort, Figure, at_most, beside
from mlctl.cli.run import run

_SCHEMA = "https://azuremlschemas.azureedge.net/latest/amlCompute.schema.json"
_PLAIN = (
    f"$schema: {_SCHEMA}\n"
    "name: {}\ntype: amlcompute\ntier: low_priority\nmin_instances: {}\nmax_instances: 4\n"
)


def figures(scratch: Path, effort: Effort) -> Iterator[Figure]:
    """A history through `job wait`, and a month of idle clusters through `local advance`."""
    nodes, batches, seconds = (10_000, 1_000_000, 60) if effort.long else (1_000, 100_000, 10)
    wait = measured(_waiting(scratch / "large", nodes, batches))
    name = f"job wait, {nodes:,} nodes, {batches:,}"
    yield at_most(name, wait.seconds, "s", seconds)
    yield at_most("  its memory", wait.memory, "MB", 1000)
    advance = _advancing(scratch / "idle", 50)
    spent = [measured(advance) for _ in range(effort.runs)]
    yield at_most("local advance 30d, 50 idle clusters", median(spent), "s", 1)
    yield from _after_many_jobs(scratch, 1000 if effort.long else 200)


def _after_many_jobs(scratch: Path, jobs: int) -> Iterator[Figure]:
    """Commands on a cloud with ended jobs, beside one with a single one; processor time in process.

    A process of its own would take longer to start than the command takes.
    """
    clouds = [_ended(scratch / f"ended-{count}", count) for count in (1, jobs)]
    invoke = ("batch-endpoint", "invoke", "-n", "heart-classifier-batch", *_SMALL, "--job-name")
    spent: dict[str, tuple[list[float], list[float]]] = {}
    for time in range(15):
        name = f"timed-{time}"
        commands = {
            "invoke": (*invoke, name),
            "job wait": ("job", "wait", "-n", name),
            "job show": ("job", "show", "-n", "job-0"),
            "job list": ("job", "list", "-r", "1"),
            "plan": ("plan", "."),
            "apply": ("apply", ".", "--yes"),
        }
        for what, words in commands.items():
            for folder, seconds in zip(clouds, spent.setdefault(what, ([], [])), strict=True):
                seconds.append(_in_process(folder, *words))
    for what, (few, many) in spent.items():
        name = f"{what}, {jobs:,} ended jobs"
        yield beside(name, median_of(many), median_of(few), "a cloud with one", 1.5)


def _ended(folder: Path, jobs: int) -> Path:
    """A folder with a local cloud on which so many small jobs have ended."""
    shutil.copytree(ROOT / "samples" / "low-priority-batch", folder)
    _in_process(folder, "apply", ".", "--yes")
    invoke = ("batch-endpoint", "invoke", "-n", "heart-classifier-batch", *_SMALL, "--job-name")
    for number in range(jobs):
        _in_process(folder, *invoke, f"job-{number}")
        _in_process(folder, "job", "wait", "-n", f"job-{number}")
    return folder


_SMALL = ("--files", "40", "--seconds-per-file", "5")


def _in_process(folder: Path, *words: str) -> float:
    """The seconds of the processor that a command takes, without the start of Python."""
    began = process_time()
    with chdir(folder), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        code = run(words)
    if code not in (0, 2):  # `plan` exits with 2 where something would change
        raise RuntimeError(f"{' '.join(words)} exited with {code}")
    return process_time() - began


def _waiting(folder: Path, nodes: int, batches: int) -> Command:
    """A job on as many low-priority nodes; the clock stands where it was submitted."""
    folder.mkdir()
    for source in (ROOT / "samples" / "low-priority-batch").glob("*.yml"):
        text = source.read_text().replace("max_instances: 2", f"max_instances: {nodes}")
        (folder / source.name).write_text(text)
    (folder / "model").symlink_to(ROOT / "samples" / "low-priority-batch" / "model")
    _done(folder, "local", "quota", "set", *PLENTY)
    _done(folder, "apply", ".", "--yes")
    _done(folder, "local", "preemption", "set", "--poisson", "0.05")
    size = ("--files", str(batches), "--mini-batch-size", "1", "--instance-count", str(nodes))
    work = ("--seconds-per-mini-batch", "60", "--job-name", "large")
    _done(folder, "batch-endpoint", "invoke", "-n", "heart-classifier-batch", *size, *work)
    return mlctl(folder, "job", "wait", "-n", "large")


def _advancing(folder: Path, clusters: int) -> Command:
    """A month passes, once more; every other cluster keeps a node, which is lost now and then."""
    folder.mkdir()
    for number in range(clusters):
        text = _PLAIN.format(f"cluster-{number:02}x", number % 2)
        (folder / f"cluster-{number:02}x.yml").write_text(text)
    _done(folder, "local", "quota", "set", *PLENTY)
    _done(folder, "apply", ".", "--yes")
    _done(folder, "local", "preemption", "set", "--poisson", "0.05")
    return mlctl(folder, "local", "advance", "30d")


def _done(folder: Path, *words: str) -> Run:
    return measured(mlctl(folder, *words))
