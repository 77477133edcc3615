"""The workspace and backend of a command: from flags, environment and the files of its paths."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from mlctl import files
from mlctl.dataclasses import dataclass, field
from mlctl.kinds import Scope
from mlctl.project.file import Project, nearest_file, project_file
from mlctl.project.load import load_project
from mlctl.source.files import PROJECT_FILE, projects_below

LOCAL_SCOPE = Scope("00000000-0000-0000-0000-000000000000", "local", "local")

Ini = Mapping[str, Mapping[str, str]]


class ScopeError(Exception):
    """A part of the workspace's name is missing, or a configuration file cannot be used."""


@dataclass(frozen=True, slots=True)
class ScopePart:
    """A part of the workspace's name, and its name in each place that can set it.

    `variables` are in order of precedence; `key` is that of `mlctl.yml`, `default` that of
    `[defaults]` in the configuration files of mlctl and az.
    """

    flag: str
    variables: tuple[str, ...]
    key: str
    default: str


PARTS = {
    "subscription": ScopePart(
        "--subscription",
        ("MLCTL_SUBSCRIPTION", "AZURE_DEFAULTS_SUBSCRIPTION", "AZURE_SUBSCRIPTION_ID"),
        "subscription",
        "subscription",
    ),
    "resource_group": ScopePart(
        "--resource-group",
        ("MLCTL_RESOURCE_GROUP", "AZURE_DEFAULTS_GROUP"),
        "resource_group",
        "group",
    ),
    "workspace": ScopePart(
        "--workspace-name",
        ("MLCTL_WORKSPACE", "AZURE_DEFAULTS_WORKSPACE"),
        "workspace",
        "workspace",
    ),
}
OPTIONS = {
    "auth": ScopePart("--auth", ("MLCTL_AUTH",), "auth", "auth"),
    "cloud": ScopePart("--cloud", ("MLCTL_CLOUD",), "cloud", "cloud"),
}
LOCATION = ScopePart(
    "--location", ("MLCTL_LOCATION", "AZURE_DEFAULTS_LOCATION"), "location", "location"
)


@dataclass(frozen=True, slots=True)
class Configuration:
    """What is configured outside of the command's own flags.

    `own` is mlctl's configuration file, `az` is az's, by sections; `account` is the id of the
    subscription that `az account set` chose.
    """

    project: Project
    az: Ini
    environment: Mapping[str, str]
    own: Ini = field(default_factory=dict)
    account: str | None = None

    @classmethod
    def read(
        cls, project_file: Path, environment: Mapping[str, str], stage: str | None = None
    ) -> Configuration:
        """Read a `mlctl.yml`, mlctl's configuration and az's.

        With `stage` the project is that of one of its environments.
        """
        folder = environment.get("AZURE_CONFIG_DIR") or f"{environment.get('HOME', '~')}/.azure"
        az = files.expanded(Path(folder))
        project = load_project(project_file)
        return cls(
            project.within(stage) if stage else project,
            read_ini(az / "config"),
            environment,
            read_ini(own_file(environment)),
            _account(az / "azureProfile.json"),
        )

    def backend(self, flag: str | None) -> str:
        """Return the name of the backend; the default is `local`."""
        choices = (
            flag,
            self.project.chosen.get("backend"),
            self.environment.get("MLCTL_BACKEND"),
            self.project.text("backend"),
        )
        return next((str(choice) for choice in choices if choice), "local")

    def scope(
        self, backend: str, flags: Mapping[str, str | None], *, needed: Collection[str] = PARTS
    ) -> Scope:
        """Return the workspace; parts of its name that are not `needed` may be empty."""
        parts = {part: flags.get(part) or self._agree(places) for part, places in PARTS.items()}
        if backend == "local":
            fallback = {part: getattr(LOCAL_SCOPE, part) for part in PARTS}
            return Scope(**{part: value or fallback[part] for part, value in parts.items()})
        parts["subscription"] = parts["subscription"] or self.account
        missing = [part for part in parts if parts[part] is None and part in needed]
        if missing:
            raise ScopeError("\n".join(_ways(part) for part in missing))
        return Scope(**{part: value or "" for part, value in parts.items()})

    def _agree(self, part: ScopePart) -> str | None:
        """Return a part of the workspace's name from `mlctl.yml`, else as configured."""
        project_value = self.project.text(part.key)
        if project_value is None or self.project.chosen.get(part.key):
            return self.configured(part)
        for variable in part.variables:
            value = self.environment.get(variable)
            if value and value.casefold() != project_value.casefold():
                raise ScopeError(
                    f"`{part.key}: {project_value}` in {PROJECT_FILE}, and ${variable} says"
                    f" `{value}`; unset the variable, or decide with `{part.flag}`"
                )
        return project_value

    def configured(self, part: ScopePart) -> str | None:
        """Return a default: from the environment, `mlctl.yml`, mlctl's own file, or az's.

        What `mlctl.yml` sets for the environment that `--env` names has the rank of a flag.
        """
        if self.project.chosen.get(part.key):
            return str(self.project.chosen[part.key])
        for variable in part.variables:
            if self.environment.get(variable):
                return self.environment[variable]
        value = self.project.text(part.key)
        if value is not None:
            return value
        for file in (self.own, self.az):
            if file.get("defaults", {}).get(part.default):
                return file["defaults"][part.default]
        return None

    def core(self, name: str) -> str | None:
        """Return a setting of az's `[core]`: from the environment, mlctl's configuration, az's."""
        files = (file.get("core", {}).get(name) for file in (self.own, self.az))
        variables = (
            self.environment.get(f"{prefix}_{name.upper()}") for prefix in ("MLCTL", "AZURE_CORE")
        )
        return next((value for value in (*variables, *files) if value), None)

    def truth(self, name: str) -> bool:
        """Whether a setting of `[core]` is on."""
        return (self.core(name) or "").casefold() in ("1", "yes", "true", "on")


def own_file(environment: Mapping[str, str]) -> Path:
    """Return mlctl's configuration file, which `mlctl configure` writes."""
    home = environment.get("HOME", "~")
    base = environment.get("XDG_CONFIG_HOME") or f"{home}/.config"
    folder = environment.get("MLCTL_CONFIG_DIR") or f"{base}/mlctl"
    return files.expanded(Path(folder)) / "config"


def price_cache(environment: Mapping[str, str]) -> Path:
    """Return the price list that `mlctl catalog refresh` writes."""
    base = environment.get("XDG_CACHE_HOME") or f"{environment.get('HOME', '~')}/.cache"
    return files.expanded(Path(base)) / "mlctl" / "prices.csv"


def read_ini(path: Path) -> dict[str, dict[str, str]]:
    """Read the sections of a configuration file; {} if it cannot be read."""
    if not files.is_file(path):
        return {}
    import configparser

    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read(path, encoding="utf-8")
    except (configparser.Error, OSError, UnicodeDecodeError):
        return {}
    return {name: dict(parser[name]) for name in parser.sections()}


def _ways(part: str) -> str:
    places = PARTS[part]
    sources = [f"`{places.flag}`", *(f"${variable}" for variable in places.variables)]
    sources += [
        f"`{places.key}:` in {PROJECT_FILE}",
        f"`mlctl configure --defaults {places.default}=...`",
    ]
    listed = f"{', '.join(sources[:-1])} or {sources[-1]}"
    return f"no {part.replace('_', ' ')} is given; set it with {listed}"


_MAX_PROFILE = 16 << 20  # bytes


def _account(path: Path) -> str | None:
    """Return the subscription that az uses; az writes the file with a byte order mark."""
    try:
        profile = json.loads(files.read(path, _MAX_PROFILE).decode("utf-8-sig"))
        return next(
            str(subscription["id"])
            for subscription in profile["subscriptions"]
            if subscription.get("isDefault")
        )
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        StopIteration,
        AttributeError,
        RecursionError,
    ):
        return None


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
