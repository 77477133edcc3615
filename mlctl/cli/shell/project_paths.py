"""The paths of a command line, and the `mlctl.yml` that applies to them."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mlctl import files
from mlctl.project.file import nearest_file, project_file
from mlctl.source.files import PROJECT_FILE, projects_below

PLACE = "{env}"  # in an argument: the name of each of several environments
_PARAMETERS = ("paths", "path", "file", "to")  # of commands that name files of a project
_MAX_PLAN = 1 << 30  # bytes


def paths_of(values: Mapping[str, Any]) -> list[str]:
    """Return the files and folders that the parameters of a command name.

    Without any, `--resume` looks at projects below the current folder.
    """
    values_of_paths = (values.get(value) for value in _PARAMETERS)
    listed = (
        value if isinstance(value, list) else [value]
        for value in values_of_paths
        if value is not None
    )
    paths = [str(path) for entries in listed for path in entries]
    return _unfinished_folders() if values.get("resume") and not paths else paths


def project_file_of(paths: Sequence[str]) -> Path:
    """Return the `mlctl.yml` of the paths; for a saved plan, that of its files.

    Where they have none, and without paths, it is that of the current folder. It may not be there.
    """
    patterns = [path.replace(PLACE, "*") if PLACE in path else path for path in paths]
    if len(patterns) > 1 and (PLACE in paths[0] or is_plan(Path(paths[0]))):
        patterns = patterns[1:]  # of a saved plan, beside the files that it is checked against
    if len(patterns) == 1:
        first = next(iter(sorted(glob.glob(patterns[0]))), patterns[0])  # noqa: PTH207
        planned_by = _project_of_plan(Path(first)) if is_plan(Path(first)) else None
        if planned_by is not None and files.is_file(Path(planned_by)):
            return Path(planned_by)
    project = project_file(patterns) or nearest_file(os.curdir) or PROJECT_FILE
    return Path(os.path.normpath(project))


def _unfinished_folders() -> list[str]:
    """Return the folders here and below with an unfinished apply."""
    from mlctl.planning.unfinished.journal import FOLDER  # most commands do not need it

    below = [os.path.dirname(path) for path in projects_below(os.curdir)]  # noqa: PTH120
    return [path for path in below if next(Path(path, FOLDER).glob("[!.]*.json"), None) is not None]


def is_plan(path: Path) -> bool:
    """Whether a path names a saved plan, by its name or its first character: it is JSON."""
    if path.suffix in (".yml", ".yaml") or not files.is_file(path):
        return False
    try:
        with path.open("rb") as file:
            return path.suffix == ".json" or file.read(1) == b"{"
    except OSError:
        return False  # reading it as a document reports why


def _project_of_plan(path: Path) -> str | None:
    """Return the `mlctl.yml` that a saved plan was made with, if it can be read."""
    try:
        name = json.loads(files.read(path, _MAX_PLAN))["project_file"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return str(name) if name else None
