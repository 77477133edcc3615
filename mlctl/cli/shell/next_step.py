"""`mlctl` without arguments: suggest what to do next in this folder, in five lines."""

from __future__ import annotations

import os
import shlex

from mlctl import source
from mlctl.backends import LOCAL_DB
from mlctl.cli.shell import Session
from mlctl.config.graph import Graph
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


def _steps(session: Session) -> tuple[str, list[tuple[str, str]]]:
    """Return the situation, and each command with its purpose."""
    if not any(True for _ in source.discover(["."], Report())):
        return "no YAML files here", [
            ("mlctl init", "create a project with dev and prod"),
            ("mlctl export --to infra", "or write an existing workspace to files"),
            _ALL,
        ]
    files = shlex.quote(session.paths[0]) + (
        f" --env {session.flags.env}" if session.flags.env else ""
    )
    plan, valid = f"mlctl plan {files}", f"mlctl validate {files}"
    if session.journals.unfinished():
        return "an apply was interrupted", [
            (plan, "show what it left unfinished"),
            (f"mlctl apply {files} --resume", "finish it"),
            _ALL,
        ]
    errors, graph = _check(session, session.paths[0])
    if errors:
        return f"{counted(errors, 'error')} in the files", [
            (valid, "show each error and how to fix it"),
            ("mlctl explain CODE", "explain a rule"),
            _ALL,
        ]
    if not graph.resources:
        return "no Azure ML files here", [
            ("mlctl init --to infra", "create a project"),
            (valid, "show which files were skipped, and why"),
            _ALL,
        ]
    declared = f"{counted(len(graph.resources), 'resource')} in files"
    last = [(f"mlctl graph {files}", "show how resources refer to each other"), _ALL]
    if "batch-deployment" in graph.by_kind:
        last[0] = (f"mlctl simulate {files} --files 1000", "forecast time and cost of a batch job")
    if session.backend_name == "local" and not LOCAL_DB.exists():
        return f"{declared}, nothing applied yet", [
            (plan, "show what would be created, and its cost"),
            (f"mlctl apply {files}", "create it in a simulated workspace"),
            *last,
        ]
    return declared, [
        (plan, "show what would change"),
        (f"mlctl drift {files}", "show changes made elsewhere"),
        *last,
    ]


def _check(session: Session, folder: str) -> tuple[int, Graph]:
    """Count the errors of the files, and return their graph; of many files, read only the first."""
    report = Report()
    names = [file.path for file in source.discover([folder], report)][:_MOST]
    loaded = session.loader(report).load(names if len(names) == _MOST else [folder])
    return report.errors, loaded.graph
