"""Which workspace a command works in, on which backend: flags, environment, configuration files."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path

from mlctl import files
from mlctl.dataclasses import dataclass, field
from mlctl.kinds import Scope
from mlctl.project.file import Project
from mlctl.project.load import load_project
from mlctl.source.files import PROJECT_FILE

LOCAL_SCOPE = Scope("00000000-0000-0000-0000-000000000000", "local", "local")

Ini = Mapping[str, Mapping[str, str]]


class ScopeError(Exception):
    """Part of the workspace's name is missing, or a configuration file cannot be used."""


@dataclass(frozen=True, slots=True)
class ScopePart:
    """A part of the workspace's name, and its name in each place that can give it.

    `variables` stand in their order; `key` is that of `mlctl.yml`, `default` that of `[defaults]`
    in the configuration files of mlctl and az.
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
        """A `mlctl.yml`, mlctl's configuration and az's.

        With `stage` the project is that of one of its environments.
        """
        az = _az_folder(environment)
        project = load_project(project_file)
        return cls(
            project.within(stage) if stage else project,
            read_ini(az / "config"),
            environment,
            read_ini(own_file(environment)),
            _account(az / "azureProfile.json"),
        )

    def backend(self, flag: str | None) -> str:
        """The name of the backend: `local` unless something says otherwise."""
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
        """The workspace; parts of its name that are not `needed` may be empty."""
        parts = {part: flags.get(part) or self._agreed(places) for part, places in PARTS.items()}
        if backend == "local":
            fallback = {part: getattr(LOCAL_SCOPE, part) for part in PARTS}
            return Scope(**{part: value or fallback[part] for part, value in parts.items()})
        parts["subscription"] = parts["subscription"] or self.account
        missing = [part for part in parts if parts[part] is None and part in needed]
        if missing:
            raise ScopeError("\n".join(_ways(part) for part in missing))
        return Scope(**{part: value or "" for part, value in parts.items()})

    def _agreed(self, part: ScopePart) -> str | None:
        """A part of the workspace's name as `mlctl.yml` has it, else as it is configured."""
        project_value = self.project.text(part.key)
        if project_value is None or self.project.chosen.get(part.key):
            return self.configured(part)
        for variable in part.variables:
            value = self.environment.get(variable)
            if value and value.casefold() != project_value.casefold():
                raise ScopeError(
                    f"`{part.key}: {project_value}` in {PROJECT_FILE}, and ${variable} says"
                    f" `{value}`; unset the variable, or say which with `{part.flag}`"
                )
        return project_value

    def configured(self, part: ScopePart) -> str | None:
        """A default: of the environment, else `mlctl.yml`, else mlctl's own file, else az's.

        What `mlctl.yml` says of the environment that `--env` names is as good as a flag.
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
        """A setting of az's `[core]` section: the environment, mlctl's configuration, az's."""
        files = (file.get("core", {}).get(name) for file in (self.own, self.az))
        variables = (
            self.environment.get(f"{prefix}_{name.upper()}") for prefix in ("MLCTL", "AZURE_CORE")
        )
        return next((value for value in (*variables, *files) if value), None)

    def truth(self, name: str) -> bool:
        """Whether a setting of `[core]` is on."""
        return (self.core(name) or "").casefold() in ("1", "yes", "true", "on")


def own_file(environment: Mapping[str, str]) -> Path:
    """mlctl's configuration file, which `mlctl configure` writes."""
    home = environment.get("HOME", "~")
    base = environment.get("XDG_CONFIG_HOME") or f"{home}/.config"
    folder = environment.get("MLCTL_CONFIG_DIR") or f"{base}/mlctl"
    return files.expanded(Path(folder)) / "config"


def price_cache(environment: Mapping[str, str]) -> Path:
    """The price list that `mlctl catalog refresh` writes."""
    base = environment.get("XDG_CACHE_HOME") or f"{environment.get('HOME', '~')}/.cache"
    return files.expanded(Path(base)) / "mlctl" / "prices.csv"


def read_ini(path: Path) -> dict[str, dict[str, str]]:
    """The sections of a configuration file; nothing where it cannot be read."""
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
    return f"no {part.replace('_', ' ')} is given; say it with {listed}"


def _az_folder(environment: Mapping[str, str]) -> Path:
    folder = environment.get("AZURE_CONFIG_DIR") or f"{environment.get('HOME', '~')}/.azure"
    return files.expanded(Path(folder))


_MAX_PROFILE = 16 << 20  # bytes


def _account(path: Path) -> str | None:
    """The subscription that az works in; az writes the file with a byte order mark."""
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
