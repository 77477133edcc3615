"""Find the `mlctl.yml` of a command: the nearest at or above its files."""
# os.path answers False where pathlib raises (loops of links, folders that cannot be entered):
# ruff: noqa: PTH100, PTH109, PTH112, PTH116, PTH117, PTH118, PTH120

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from mlctl.source.files import PROJECT_FILE, STDIN, expanded, projects_below


class SeveralProjects(Exception):
    """The files of one command belong to several projects."""


def project_file(paths: Iterable[str | Path]) -> Path | None:
    """Find the `mlctl.yml` of files and folders: the nearest at or above each, or in a folder.

    The search goes up to the root of the git checkout; outside of one, it stops below folders that
    everybody can write to, whose file may be anybody's.

    Raises:
        SeveralProjects: the paths have several; the message names two.
    """
    projects: dict[str, str] = {}
    for path in paths:
        for project in _projects_of(str(path)):
            projects.setdefault(os.path.realpath(project), project)
    if len(projects) > 1:
        first, second, *_ = (os.path.normpath(project) for project in projects.values())
        raise SeveralProjects(
            f"`{first}` and `{second}` are two projects, but a command needs one:"
            " name the folder of one of them"
        )
    return next((Path(os.path.normpath(project)) for project in projects.values()), None)


def nearest(folder: str) -> str | None:
    """Find the nearest `mlctl.yml` at or above a folder; relative if the folder is."""
    try:
        start = os.path.abspath(folder)
        now = os.getcwd()
    except OSError:  # the current folder no longer exists
        return None
    files = (os.path.join(place, PROJECT_FILE) for place in _up(start, now))
    file = next((file for file in files if os.path.lexists(file)), None)
    return file if file is None or os.path.isabs(folder) else os.path.relpath(file, now)


def _projects_of(path: str) -> Iterator[str]:
    for entry in () if path == STDIN else expanded(path):
        is_folder = os.path.isdir(entry)
        above = nearest(entry if is_folder else os.path.dirname(entry) or os.curdir)
        if above is not None:
            yield above
        if is_folder:
            yield from projects_below(entry)


def _up(start: str, now: str) -> Iterator[str]:
    """Yield a folder and those above it that may have its `mlctl.yml`, as seen from here."""
    every = [start]
    while (above := os.path.dirname(every[-1])) != every[-1]:
        every.append(above)
    for end, ancestor in enumerate(every, 1):
        if os.path.lexists(os.path.join(ancestor, ".git")):
            return iter(every[:end])
    for end, ancestor in enumerate(every):
        if end and ancestor != now and _is_open(ancestor):
            return iter(every[:end])
    return iter(every)


def _is_open(folder: str) -> bool:
    """Whether everybody can write to a folder."""
    try:
        return bool(os.stat(folder).st_mode & stat.S_IWOTH)
    except OSError:
        return False
