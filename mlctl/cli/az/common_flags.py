"""The flags that many az-style commands accept, and those that depend on the kind."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from mlctl.cli.shell import TypedFlag, flag
from mlctl.cli.shell.command import option, parameters, switch
from mlctl.cli.shell.output import OutputArgs
from mlctl.dataclasses import dataclass
from mlctl.kinds import ALL, Kind

_INSTANCE = "ComputeInstance Arguments"
_POLICY = "Global Policy Arguments"
_UPDATE = "Generic Update Arguments"


# What every az-style command accepts, or every one that writes, or every one that updates.
OUTPUT = tuple(parameters(OutputArgs))


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyArgs:
    """Flags of az that are accepted and ignored."""

    acquire_policy_token: bool = flag(
        "Accepted for compatibility with az; has no effect.", default=False, panel=_POLICY
    )
    change_reference: str | None = flag(
        "Accepted for compatibility with az; has no effect.", panel=_POLICY
    )


POLICY = tuple(parameters(PolicyArgs))
NO_WAIT = switch("no_wait", "Do not wait until it is done: return once it is accepted.")
DRY_RUN = switch("dry_run", "Print what would change, and write nothing.")
REPLACE = switch("replace", "Delete and create again where a change cannot be made in place.")
IF_NOT_EXISTS = switch("if_not_exists", "Do not change an existing resource; print it.")
YES = switch("yes", "Do not prompt for confirmation.", "-y")


_SET_METAVAR = "KEY=VALUE ..."
_SET_HELP = (
    "Set a field by its path: `tags.team=ds`, `settings.retry_settings.timeout=60`."
    ' A key with a dot is quoted: `tags."a.b"=x`.'
)
SetFlag = Annotated[list[TypedFlag] | None, flag(_SET_HELP, "--set", metavar=_SET_METAVAR)]
SET = option("set_", _SET_HELP, "--set", metavar=_SET_METAVAR)


@dataclass(frozen=True, slots=True, kw_only=True)
class GenericArgs:
    """The generic update arguments of az."""

    set_: list[TypedFlag] | None = flag(_SET_HELP, "--set", metavar=_SET_METAVAR, panel=_UPDATE)
    add: list[TypedFlag] | None = flag(
        "Add to a list: the path of the list, then a value or key=value pairs of an object.",
        metavar="LIST VALUE|KEY=VALUE ...",
        panel=_UPDATE,
    )
    remove: list[TypedFlag] | None = flag(
        "Remove a field, a key or an element of a list: `tags.team`, `tags`, `LIST 0`.",
        metavar="PATH [INDEX] ...",
        panel=_UPDATE,
    )
    force_string: bool = flag(
        "Take the values of --set and --add as text.", default=False, panel=_UPDATE
    )


GENERIC = tuple(parameters(GenericArgs))
INSTANCE_ONLY = tuple(
    option(name, text, panel=_INSTANCE)
    for name, text in (
        ("user_object_id", "Of compute instances only; refused for a cluster."),
        ("user_tenant_id", "Of compute instances only; refused for a cluster."),
    )
)


def identity(kind: Kind, *, label: bool = True) -> Iterator[inspect.Parameter]:
    """Return the flags that name an existing resource."""
    yield option("name", f"Name of the {kind.title}.", "-n", default=...)
    if kind.parent:
        yield option("endpoint_name", f"Name of the {ALL[kind.parent].title}.", "-e", default=...)
    if kind.versioned:
        yield option("version", "Version; the newest by default.", "-v")
    if kind.versioned and label:
        yield option("label", "Label instead of a version: latest.", "-l")


def registry(kind: Kind) -> Iterator[inspect.Parameter]:
    """Return the flag that names a registry instead of the workspace."""
    if kind.versioned:
        text = "The registry of this name (`azureml` is Microsoft's), not the workspace."
        yield option("registry_name", text, metavar="NAME")


def sharing(kind: Kind) -> Iterator[inspect.Parameter]:
    """Return the flags of `share`."""
    yield option("name", f"Name of the {kind.title}.", "-n", default=...)
    yield option("version", "Version.", "-v", default=...)
    yield option("registry_name", "The registry to copy it to.", metavar="NAME", default=...)
    yield option("share_with_name", "Name in the registry; the same by default.")
    yield option("share_with_version", "Version in the registry; the same by default.")
    yield from POLICY


def downloading(kind: Kind) -> Iterator[inspect.Parameter]:
    """Return the flags of `download`."""
    yield option("name", f"Name of the {kind.title}.", "-n", default=...)
    yield option("version", "Version.", "-v", default=...)
    yield option(
        "download_path",
        "The folder to download to.",
        "-p",
        metavar="FOLDER",
        default=Path(),
        type_=Path,
    )
    yield from registry(kind)
    yield from POLICY


def new_identity(kind: Kind) -> Iterator[inspect.Parameter]:
    """The flags that name a resource where a file may do so."""
    yield option("name", f"Name of the {kind.title}; overrides the file.", "-n")
    if kind.parent:
        yield option(
            "endpoint_name", f"Name of the {ALL[kind.parent].title}; overrides the file.", "-e"
        )
    if kind.versioned:
        yield option("version", "Version; the next one by default.", "-v")


def listing(kind: Kind) -> Iterator[inspect.Parameter]:
    """Return the flags that filter a list."""
    if kind.parent:
        yield option("endpoint_name", f"Name of the {ALL[kind.parent].title}.", "-e", default=...)
    if kind.versioned:
        yield option("name", f"Name of the {kind.title}: list its versions, newest first.", "-n")
        yield switch("archived_only", "List archived ones only.")
        yield switch("include_archived", "List archived ones too.")
    if kind.content.job:
        yield switch("disabled_only", "List disabled ones only.")
        yield switch("include_disabled", "List disabled ones too.")
    for narrowing in kind.az.list_flags:
        yield option(narrowing.parameter, narrowing.help, *narrowing.names)
    if kind.az.limits_lists:
        yield option("max_results", "List at most N.", "-r", type_=int | None, metavar="N")


def file(*, required: bool) -> inspect.Parameter:
    """Return the flag that names the file."""
    text = "The YAML file; - for standard input."
    return option("file", text, "-f", metavar="FILE", default=... if required else None)


def deploying(kind: Kind) -> Iterator[inspect.Parameter]:
    """Return the flags of `create` for resources that run code under a parent."""
    if kind.az.route_flag is not None:
        yield switch("set_default", kind.az.route_flag.help, *kind.az.route_flag.names)
        yield switch("skip_script_validation", "Do not look into the scoring script.")


def writing() -> Iterator[inspect.Parameter]:
    """Return the flags of every command that writes."""
    yield from (REPLACE, NO_WAIT, DRY_RUN, *POLICY)
