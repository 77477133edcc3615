"""The simulated cloud through the command line: one very large history, and idle time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench.commands import PLENTY, ROOT, Command, Run, measured, median, mlctl
from bench.figure import Figure, at_most

_SCHEMA = "https://azuremlschemas.azureedge.net/latest/amlCompute.schema.json"
_PLAIN = (
    f"$schema: {_SCHEMA}\n"
    "name: {}\ntype: amlcompute\ntier: low_priority\nmin_instances: {}\nmax_instances: 4\n"
)


def figures(scratch: Path, runs: int, *, quick: bool) -> Iterator[Figure]:
    """A history through `job wait`, and a month of idle clusters through `local advance`."""
    nodes, batches = (1_000, 100_000) if quick else (10_000, 1_000_000)
    wait = measured(_waiting(scratch / "large", nodes, batches))
    name = f"job wait, {nodes:,} nodes, {batches:,}"
    yield at_most(name, wait.seconds, "s", 60)
    yield at_most("  its memory", wait.memory, "MB", 1000)
    advance = _advancing(scratch / "idle", 50)
    spent = [measured(advance) for _ in range(runs)]
    yield at_most("local advance 30d, 50 idle clusters", median(spent), "s", 1)


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
