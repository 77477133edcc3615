"""How mlctl supports the flags and commands of `az ml`: tables, read from a data file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from mlctl.dataclasses import dataclass
from mlctl.kinds import KINDS

_RETIRED = "it is of the first extension (azure-cli-ml) or a preview, both retired: write `{}`"


@dataclass(frozen=True, slots=True)
class Compatibility:
    """Why flags and commands are missing, and how flags are better; by name, or command and name.

    `elsewhere` are groups of az, and commands of groups that az has more of, which no page lists.
    """

    flags: Mapping[str, str]
    commands: Mapping[str, str]
    elsewhere: Mapping[str, str]
    better: Mapping[str, str]

    @property
    def absent(self) -> Mapping[str, str]:
        """Return why each flag or command is missing."""
        return {**self.flags, **self.commands, **self.elsewhere}


@cache
def compatibility() -> Compatibility:
    """Return the tables of the data file."""
    data = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    tables: dict[str, dict[str, str]] = {"flags": {}, "commands": {}, "elsewhere": {}}
    assets = [kind.name for kind in KINDS.values() if kind.versioned]
    for entry in data["absent"]:
        flags = [f"{asset} {flag}" for asset in assets for flag in entry.get("asset_flags", ())]
        tables["flags"] |= dict.fromkeys(flags, entry["why"])
        for name, table in tables.items():
            table.update(dict.fromkeys(entry.get(name, ()), entry["why"]))
    retired = {command: _RETIRED.format(instead) for command, instead in data["retired"].items()}
    tables["elsewhere"] |= retired
    return Compatibility(**tables, better=data["better"])
