"""The flags of a kind's commands, and their values.

A command has only some of them, depending on its kind; the others keep their defaults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

from mlctl.cli.parser.declare import DeclaredParameter
from mlctl.cli.shell import TypedFlag, flag
from mlctl.cli.shell.command import option, parameters, switch
from mlctl.cli.shell.output import OutputArgs
from mlctl.dataclasses import dataclass, field
from mlctl.kinds import ALL, Kind

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


_INSTANCE = "ComputeInstance Arguments"
_POLICY = "Global Policy Arguments"
_UPDATE = "Generic Update Arguments"


# What every az-style command accepts, or every one that writes, or every one that updates.
OUTPUT = tuple(parameters(OutputArgs))


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyArgs:
    """Flags of az that are accepted and ignored."""

    acquire_policy_token: bool = flag(default=False, panel=_POLICY)
    change_reference: str | None = flag(panel=_POLICY)


POLICY = tuple(parameters(PolicyArgs))
NO_WAIT = switch("no_wait")
DRY_RUN = switch("dry_run")
REPLACE = switch("replace")
IF_NOT_EXISTS = switch("if_not_exists")
YES = switch("yes", "-y")


_SET_METAVAR = "KEY=VALUE ..."
SetFlag = Annotated[list[TypedFlag] | None, flag("--set", metavar=_SET_METAVAR)]
SET = option("set_", "--set", metavar=_SET_METAVAR)


@dataclass(frozen=True, slots=True, kw_only=True)
class GenericArgs:
    """The generic update arguments of az."""

    set_: list[TypedFlag] | None = flag("--set", metavar=_SET_METAVAR, panel=_UPDATE)
    add: list[TypedFlag] | None = flag(metavar="LIST VALUE|KEY=VALUE ...", panel=_UPDATE)
    remove: list[TypedFlag] | None = flag(metavar="PATH [INDEX] ...", panel=_UPDATE)
    force_string: bool = flag(default=False, panel=_UPDATE)


GENERIC = tuple(parameters(GenericArgs))
INSTANCE_ONLY = tuple(
    option(name, panel=_INSTANCE) for name in ("user_object_id", "user_tenant_id")
)


def identity(kind: Kind, *, label: bool = True) -> Iterator[DeclaredParameter]:
    """Return the flags that name an existing resource."""
    yield option("name", "-n", help=f"Name of the {kind.title}.", default=...)
    if kind.parent:
        text = f"Name of the {ALL[kind.parent].title}."
        yield option("endpoint_name", "-e", help=text, default=...)
    if kind.versioned:
        yield option("version", "-v")
    if kind.versioned and label:
        yield option("label", "-l")


def registry(kind: Kind) -> Iterator[DeclaredParameter]:
    """Return the flag that names a registry instead of the workspace."""
    if kind.versioned:
        yield option("registry_name", metavar="NAME")


VERSION = option("version", "-v", default=...)
SHARING = (
    VERSION,
    option("registry_name", metavar="NAME", default=...),
    option("share_with_name"),
    option("share_with_version"),
)
DOWNLOADING = (
    VERSION,
    option("download_path", "-p", metavar="FOLDER", default=Path(), type_=Path),
    option("registry_name", metavar="NAME"),
)


def new_identity(kind: Kind) -> Iterator[DeclaredParameter]:
    """The flags that name a resource where a file may do so."""
    yield option("name", "-n", help=f"Name of the {kind.title}; overrides the file.")
    if kind.parent:
        text = f"Name of the {ALL[kind.parent].title}; overrides the file."
        yield option("endpoint_name", "-e", help=text)
    if kind.versioned:
        yield option("version", "-v")


def listing(kind: Kind) -> Iterator[DeclaredParameter]:
    """Return the flags that filter a list."""
    if kind.parent:
        text = f"Name of the {ALL[kind.parent].title}."
        yield option("endpoint_name", "-e", help=text, default=...)
    if kind.versioned:
        text = f"Name of the {kind.title}: list its versions, newest first."
        yield option("name", "-n", help=text)
        yield switch("archived_only")
        yield switch("include_archived")
    if kind.content.job:
        yield switch("disabled_only")
        yield switch("include_disabled")
    for narrowing in kind.az.list_flags:
        yield option(narrowing.parameter, *narrowing.names, help=narrowing.help)
    if kind.az.limits_lists:
        yield option("max_results", "-r", type_=int | None, metavar="N")


def file(*, required: bool) -> DeclaredParameter:
    """Return the flag that names the file."""
    return option("file", "-f", metavar="FILE", default=... if required else None)


def deploying(kind: Kind) -> Iterator[DeclaredParameter]:
    """Return the flags of `create` for resources that run code under a parent."""
    if kind.az.route_flag is not None:
        yield switch("set_default", *kind.az.route_flag.names, help=kind.az.route_flag.help)
        yield switch("skip_script_validation")


def writing() -> Iterator[DeclaredParameter]:
    """Return the flags of every command that writes."""
    yield from (REPLACE, NO_WAIT, DRY_RUN, *POLICY)
