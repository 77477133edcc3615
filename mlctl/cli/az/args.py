"""The values of the flags of a kind's commands.

A command has only some of them, depending on its kind; the others keep their defaults.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from mlctl.cli.shell import TypedFlag
from mlctl.cli.shell.output import OutputArgs
from mlctl.dataclasses import dataclass, field

FieldText: TypeAlias = str | Sequence[TypedFlag] | None
"""What a flag says of a field: text, the occurrences of a flag of several values, or nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NameArgs(OutputArgs):
    """The names of a resource; `name` is None only if a file can have it.

    `registry_name` is set if a registry is meant instead of the workspace.
    """

    name: str | None = None
    endpoint_name: str | None = None
    version: str | None = None
    label: str | None = None
    registry_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListArgs(NameArgs):
    """Arguments of `list`; `fields` are the values to filter by, by the flag's parameter."""

    archived_only: bool = False
    include_archived: bool = False
    disabled_only: bool = False
    include_disabled: bool = False
    max_results: int | None = None
    fields: Mapping[str, FieldText] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareArgs(NameArgs):
    """Arguments of `share`: the asset's name and version in the registry, if they differ."""

    share_with_name: str | None = None
    share_with_version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadArgs(NameArgs):
    """Arguments of `download`: the folder to write to."""

    download_path: Path = Path()


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionArgs(OutputArgs):
    """Arguments of `list-sizes` and `list-usage`."""

    location: str | None = None
    type_: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitArgs(NameArgs):
    """Arguments of `wait`; `interval` in seconds."""

    created: bool = False
    updated: bool = False
    deleted: bool = False
    exists: bool = False
    custom: str | None = None
    interval: int = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class EditArgs(NameArgs):
    """Edits to a document: names, `fields` by the flag's parameter, generic updates."""

    file: str | None = None
    fields: Mapping[str, FieldText] = field(default_factory=dict)
    set_: Sequence[TypedFlag] | None = None
    add: Sequence[TypedFlag] | None = None
    remove: Sequence[TypedFlag] | None = None
    force_string: bool = False
    ignore: Sequence[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteArgs(EditArgs):
    """Arguments of the commands that write."""

    if_not_exists: bool = False
    set_default: bool = False
    skip_script_validation: bool = False
    user_object_id: str | None = None
    user_tenant_id: str | None = None
    replace: bool = False
    no_wait: bool = False
    dry_run: bool = False
    yes: bool = False
