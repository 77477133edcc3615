"""Find names that several environments would create in one region.

Each environment is planned by its own process, which records what it would create in the file that
a variable names; the parent process compares.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mlctl.catalog import region
from mlctl.kinds import Scope, kind_of
from mlctl.planning.model import Plan
from mlctl.planning.preflight.regions import NAME_TAKEN
from mlctl.pointer import Data

VARIABLE = "MLCTL_NEW_NAMES"  # the file in which a process records the names


def write_down(plan: Plan, location: str, environment: Mapping[str, str]) -> None:
    """Record the new names that must be unique in their region, if requested."""
    if VARIABLE not in environment:
        return
    names = [
        {
            "address": str(change.address),
            "region": region(str(change.values.get(("location",)) or location)),
            "workspace": _whole(plan.scope),
        }
        for change in plan.changes
        if change.action.creates and kind_of(change.address).arm.unique_in_region
    ]
    Path(environment[VARIABLE]).write_text(json.dumps(names), encoding="utf-8")


def conflicts(files: Mapping[str, Path]) -> Iterator[str]:
    """Find the names that environments would share in one region, in a sentence each.

    `files` are the recorded names by environment.
    """
    makers: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for environment, file in files.items():
        for name in _read(file):
            place = str(name["address"]).casefold(), str(name["region"])
            makers[place][str(name["workspace"])].append(environment)
    for (address, where), workspaces in makers.items():
        if len(workspaces) > 1:
            named = _listed([name for names in workspaces.values() for name in names])
            yield (
                f"{NAME_TAKEN.code}: {address} is new in {named}, and its name must be unique in"
                f" {where}. Choose a name for each (`name: cpu-${{{{ var.stage }}}}`); if Azure"
                f" takes it all the same, --ignore {NAME_TAKEN.code}."
            )


def _whole(scope: Scope) -> str:
    return f"{scope.subscription}/{scope.resource_group}/{scope.workspace}".casefold()


def _read(file: Path) -> Sequence[Mapping[str, Data]]:
    try:
        names: list[Mapping[str, Data]] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []  # it made no plan
    return names


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
