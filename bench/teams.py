"""What teams run besides plan, beside a plain plan of the same 1,000 resources; plan files.

Each command is a process of its own, and its processor time counts: files are read and written in
all of them, and the clock on the wall says more of the disk. For the same reason the files are in
memory, where the system has a folder for that: on a disk, the time that the kernel takes to create
a thousand files varies from 20 to 600 ms. Every round runs each command once.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import process_time

from bench import mixed
from bench.commands import CLUSTER, MANY, PLENTY, measured, mlctl
from bench.figure import Effort, Figure, at_most, in_turns
from mlctl.backends.local.backend import LocalBackend
from mlctl.config.graph import Graph
from mlctl.config.loader import Loader
from mlctl.diagnostics import Report
from mlctl.kinds.address import Scope
from mlctl.planning.planner import plan
from mlctl.planning.refresh import refresh
from mlctl.render.plan import markdown
from mlctl.simulator.control_plane.state.clock import EPOCH

_PROJECT = "project: bench\npolicies: [policies.yml]\n"
_POLICIES = """\
policies:
  - name: low-priority-needs-two-nodes
    rule: compute.tier != 'low_priority' || compute.max_instances >= `2`
  - name: somebody-pays
    kind: compute
    schema: {required: [name], properties: {tags: {type: object}}}
  - name: nothing-replaced
    rule: change.action != 'replace'
  - name: cheap
    rule: plan.monthly_ceiling < `100000000`
"""
_MOST, _MOST_BYTES = 1.2, 3.0  # times a plain plan; MB of a plan file
_SCOPE = Scope("00000000-0000-0000-0000-000000000000", "local", "local")
_COMMANDS = {
    "plan of a project": ("plan", "."),
    "plan --prune": ("plan", ".", "--prune"),
    "drift": ("drift", "."),
    "pull": ("pull", "."),
    "export": ("export", "--to", "../exported"),
}


def figures(scratch: Path, effort: Effort) -> Iterator[Figure]:
    """The commands of a team, and how large plans are."""
    for name, write in (("clusters", _clusters), ("of five kinds", mixed.write_scoring)):
        folder = scratch / f"teams {name}"
        folder.mkdir()
        yield from _commands(folder, name, write, effort.runs)
    yield from _plan_files(scratch / "teams clusters" / "plain")
    yield from _comments(scratch / "teams clusters" / "plain")


def _commands(
    folder: Path, name: str, write: Callable[[Path, int], None], runs: int
) -> Iterator[Figure]:
    plain, team = folder / "plain", folder / "team"
    for one in (plain, team):
        one.mkdir()
        write(one, MANY)
    (team / "mlctl.yml").write_text(_PROJECT)
    (team / "policies.yml").write_text(_POLICIES)
    for one in (plain, team):
        measured(mlctl(one, "local", "quota", "set", *PLENTY))
        measured(mlctl(one, "apply", ".", "--yes"))
    spent: dict[str, list[float]] = {what: [] for what in ("plain", *_COMMANDS)}
    for _ in range(runs):
        spent["plain"].append(measured(mlctl(plain, "plan", ".")).processor)
        for what, words in _COMMANDS.items():
            shutil.rmtree(folder / "exported", ignore_errors=True)
            spent[what].append(measured(mlctl(team, *words)).processor)
    theirs = spent.pop("plain")
    for what, ours in spent.items():
        yield in_turns(f"{what}, {MANY:,} {name}", ours, theirs, "mlctl plan, plain", _MOST)


def _plan_files(folder: Path) -> Iterator[Figure]:
    """The size of saved plans: of updates, of replacements, and in an empty workspace."""
    edits = {
        "updates": ("idle_time_before_scale_down: 120", "idle_time_before_scale_down: 180"),
        "replacements": ("Standard_D4ds_v5", "Standard_D8ds_v5"),
    }
    for what, edit in edits.items():
        _edit(folder, *edit)
        yield _plan_file(folder, what)
        _edit(folder, *reversed(edit))
    shutil.rmtree(folder / ".mlctl")
    measured(mlctl(folder, "local", "quota", "set", *PLENTY))
    yield _plan_file(folder, "creations")


def _plan_file(folder: Path, what: str) -> Figure:
    measured(mlctl(folder, "plan", ".", "--out", "plan.json"))
    size = (folder / "plan.json").stat().st_size / 1e6
    return at_most(f"plan file, {MANY:,} {what}", size, "MB", _MOST_BYTES)


def _comments(folder: Path) -> Iterator[Figure]:
    """The time of the Markdown of a plan of creations, in a warm process, alone and as a ratio."""
    graph = _loaded(folder)
    backend = LocalBackend(":memory:", _SCOPE)
    backend.set_quota(families={one.family: 1_000_000 for one in backend.usage(backend.location)})
    rendering, planning = [], []
    for _ in range(5):
        began = process_time()
        made = plan(graph, refresh(graph, backend), backend="local")
        between = process_time()
        text = markdown.plan(made)
        planning.append(between - began)
        rendering.append(process_time() - between)
        assert f"{MANY} to add" in text
    backend.close()
    yield at_most(f"markdown of {MANY:,} creations", median(rendering), "s", 1)
    yield in_turns("  beside the plan itself", rendering, planning, "refresh and plan", 2)


def _loaded(folder: Path) -> Graph:
    report = Report()
    loader = Loader(report, EPOCH.date(), scope=_SCOPE, planning=True)
    graph = loader.load([str(folder)]).graph
    assert not report.failed, next(iter(report)).message
    return graph


def _clusters(folder: Path, count: int) -> None:
    for number in range(count):
        text = CLUSTER.format(name=f"c{number:05}x", most=2 + number % 5)
        (folder / f"c{number:05}x.yml").write_text(text)


def _edit(folder: Path, old: str, new: str) -> None:
    for file in folder.glob("*.yml"):
        file.write_text(file.read_text().replace(old, new))
