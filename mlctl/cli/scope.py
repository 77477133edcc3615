"""Which workspace a command works in, and on which backend: flags, environment, mlctl.yml, az's configuration."""

from __future__ import annotations

import configparser
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mlctl import source
from mlctl.diagnostics import Report
from mlctl.kinds.address import Scope
from mlctl.pointer import Data

PROJECT_FILE = "mlctl.yml"
LOCAL_SCOPE = Scope("00000000-0000-0000-0000-000000000000", "local", "local")

# What each part is called: flag, environment variables in order, key of mlctl.yml, [defaults] key of az's file.
_PARTS = {
    "subscription": ("--subscription", ("MLCTL_SUBSCRIPTION", "AZURE_SUBSCRIPTION_ID"), "subscription", None),
    "resource_group": (
        "--resource-group",
        ("MLCTL_RESOURCE_GROUP", "AZURE_DEFAULTS_GROUP"),
        "resource_group",
        "group",
    ),
    "workspace": (
        "--workspace-name",
        ("MLCTL_WORKSPACE", "AZURE_DEFAULTS_WORKSPACE"),
        "workspace",
        "workspace",
    ),
}


class ScopeError(Exception):
    """Part of the workspace's name is missing, or a configuration file cannot be used; says all the ways to give it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What was configured, before the command's own flags."""

    project: Mapping[str, Data]
    az: Mapping[str, str]
    environment: Mapping[str, str]

    @classmethod
    def read(cls, folder: Path, environment: Mapping[str, str]) -> Settings:
        """`mlctl.yml` of the folder, and az's configuration.

        Raises:
            ScopeError: one of them cannot be read.
        """
        return cls(_project(folder / PROJECT_FILE), _az(environment), environment)

    def backend(self, flag: str | None) -> str:
        """The name of the backend: `local` unless something says otherwise."""
        return flag or self.environment.get("MLCTL_BACKEND") or str(self.project.get("backend") or "local")

    def scope(self, backend: str, flags: Mapping[str, str | None]) -> Scope:
        """The workspace.

        Raises:
            ScopeError: a part is missing; on the local backend every part has a default.
        """
        found = {part: flags.get(part) or self._configured(part) for part in _PARTS}
        missing = [part for part, value in found.items() if value is None]
        if backend == "local":
            fallback = {part: getattr(LOCAL_SCOPE, part) for part in _PARTS}
            return Scope(**{part: value or fallback[part] for part, value in found.items()})
        if missing:
            raise ScopeError("\n".join(_ways(part) for part in missing))
        return Scope(**{part: str(value) for part, value in found.items()})

    def _configured(self, part: str) -> str | None:
        _, variables, key, az_key = _PARTS[part]
        for variable in variables:
            if self.environment.get(variable):
                return self.environment[variable]
        if self.project.get(key):
            return str(self.project[key])
        return self.az.get(az_key) if az_key else None


def _ways(part: str) -> str:
    flag, variables, key, az_key = _PARTS[part]
    ways = [f"`{flag}`", *(f"${variable}" for variable in variables), f"`{key}:` in {PROJECT_FILE}"]
    if az_key:
        ways.append(f"`az configure --defaults {az_key}=...`")
    return f"no {part.replace('_', ' ')} is given; say it with {', '.join(ways[:-1])} or {ways[-1]}"


def _project(path: Path) -> Mapping[str, Data]:
    if not path.is_file():
        return {}
    report = Report()
    documents = source.read(path, report)
    if report.failed or not documents:
        raise ScopeError(f"{path} cannot be read: {next(iter(report)).message}")
    return documents[0].data


def _az(environment: Mapping[str, str]) -> Mapping[str, str]:
    folder = environment.get("AZURE_CONFIG_DIR") or os.path.join(environment.get("HOME", "~"), ".azure")
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read(Path(folder).expanduser() / "config", encoding="utf-8")
        return dict(parser["defaults"]) if parser.has_section("defaults") else {}
    except (configparser.Error, OSError, UnicodeDecodeError):
        return {}
