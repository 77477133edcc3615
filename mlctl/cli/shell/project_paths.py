"""What a command line is about: its paths, and the `mlctl.yml` that holds for them."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mlctl import files
from mlctl.project.place import nearest, project_file
from mlctl.source.files import PROJECT_FILE, projects_below

PLACE = "{env}"  # in an argument: the name of each of several environments
_PARAMETERS = ("paths", "path", "file", "to")  # of commands, which name files of a project
_MAX_PLAN = 1 << 30  # bytes


def paths_of(values: Mapping[str, Any]) -> list[str]:
    """The files and folders that the parameters of a command name.

    Without any, what is to be resumed may have been begun for projects below the current folder.
    """
    found = (values.get(one) for one in _PARAMETERS)
    listed = (one if isinstance(one, list) else [one] for one in found if one is not None)
    named = [str(path) for each in listed for path in each]
    return _begun() if values.get("resume") and not named else named


def project_file_of(paths: Sequence[str]) -> Path:
    """The `mlctl.yml` of the paths; of a saved plan, that of its files.

    Where they have none, and without paths, it is that of the current folder. It may not be there.

    Raises:
        SeveralProjects: they have several.
    """
    there = [one.replace(PLACE, "*") if PLACE in one else one for one in paths]
    if len(there) == 1:
        first = next(iter(sorted(glob.glob(there[0]))), there[0])  # noqa: PTH207
        said = _planned_by(Path(first)) if is_plan(Path(first)) else None
        if said is not None and files.is_file(Path(said)):
            return Path(said)
    found = project_file(there) or nearest(os.curdir) or PROJECT_FILE
    return Path(os.path.normpath(found))


def _begun() -> list[str]:
    """The folders here and below with a project of which an apply has not ended."""
    from mlctl.planning.unfinished.journal import FOLDER  # which most commands do without

    below = [os.path.dirname(one) for one in projects_below(os.curdir)]  # noqa: PTH120
    return [one for one in below if next(Path(one, FOLDER).glob("[!.]*.json"), None) is not None]


def is_plan(path: Path) -> bool:
    """Whether a path names a saved plan, which is JSON: by its name, or by its first character."""
    if path.suffix in (".yml", ".yaml") or not files.is_file(path):
        return False
    try:
        with path.open("rb") as file:
            return path.suffix == ".json" or file.read(1) == b"{"
    except OSError:
        return False  # reading it as a document says why


def _planned_by(path: Path) -> str | None:
    """The `mlctl.yml` that a saved plan was made with, if it can be read."""
    try:
        said = json.loads(files.read(path, _MAX_PLAN))["project_file"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return str(said) if said else None
