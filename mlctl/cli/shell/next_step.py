"""`mlctl` without arguments: suggest what to do next in this folder, in five lines."""

from __future__ import annotations

import os
import shlex
import tomllib
from pathlib import Path

from mlctl import source
from mlctl.backends import LOCAL_DB
from mlctl.cli.shell import Session
from mlctl.dataclasses import replace
from mlctl.diagnostics import Report
from mlctl.schema.text import counted, listed
from mlctl.source.files import projects_below
from mlctl.version import __version__

_ALL = ("mlctl --help", "all commands")
_MOST = 500  # files that are read; more would take too long


def next_step(session: Session) -> str:
    """Describe the current folder, and the commands that come next."""
    folders = sorted(os.path.dirname(path) or "." for path in projects_below("."))  # noqa: PTH120
    session = Session(session.flags, session.environment, folders[:1] or ["."])
    environments = session.settings.project.environments
    if environments and not (session.flags.env or session.environment.get("MLCTL_ENV")):
        flags = replace(session.flags, env=environments[0])
        session = Session(flags, session.environment, session.paths)
    if len(folders) > 1:
        place = f"projects in {listed(folders, 'and')}"
        steps = [(f"cd {shlex.quote(folders[0])} && mlctl", "what to do next in one of them"), _ALL]
    else:
        place, steps = _steps(session)
    longest = max(len(command) for command, _ in steps)
    lines = [f"  {command.ljust(longest)}  # {why}" for command, why in steps]
    return "\n".join([f"mlctl {__version__}: {place}", *lines])


def _situation(session: Session) -> tuple[str, dict[str, str]]:
    """Return the name of the situation in `next_step.toml`, and the words of its place."""
    if not any(True for _ in source.discover(["."], Report())):
        return "no-yaml", {}
    if session.journals.unfinished():
        return "interrupted", {}
    folder = session.paths[0]
    report = Report()
    names = [file.path for file in source.discover([folder], report)][:_MOST]
    loaded = session.loader(report).load(names if len(names) == _MOST else [folder])
    errors, graph = (report.errors, loaded.graph)
    if errors:
        return "errors", {"errors": counted(errors, "error")}
    if not graph.resources:
        return "no-resources", {}
    nothing_yet = session.backend_name == "local" and not LOCAL_DB.exists()
    batch = "batch" if "batch-deployment" in graph.by_kind else "other"
    declared = {"declared": f"{counted(len(graph.resources), 'resource')} in files", "last": batch}
    return "nothing-applied" if nothing_yet else "applied", declared


def _steps(session: Session) -> tuple[str, list[tuple[str, str]]]:
    """Return the situation, and each command with its purpose."""
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    files = shlex.quote(session.paths[0]) + (
        f" --env {session.flags.env}" if session.flags.env else ""
    )
    name, words = _situation(session)
    situation, last = table[name], table["last"].get(words.get("last"), [])
    steps = [(command.format(files=files), why) for command, why in [*situation["steps"], *last]]
    return situation["place"].format(**words), [*steps, _ALL]
