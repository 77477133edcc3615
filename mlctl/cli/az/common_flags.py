"""The flags that many az-style commands take, and those that depend on the kind."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Annotated

from mlctl.cli.shell import OptionSpec, TypedFlag, flag
from mlctl.cli.shell.command import option, parameters, switch
from mlctl.cli.shell.output import OutputArgs
from mlctl.dataclasses import dataclass
from mlctl.kinds import ALL, Kind

_INSTANCE = "ComputeInstance Arguments"
_POLICY = "Global Policy Arguments"
_UPDATE = "Generic Update Arguments"


# What every az-style command takes, or every one that writes, or every one that updates.
OUTPUT = tuple(parameters(OutputArgs))


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyArgs:
    """Flags of az that are accepted and ignored."""

    acquire_policy_token: bool = flag(
        "Taken for az's sake; it means nothing here.", default=False, panel=_POLICY
    )
    change_reference: str | None = flag(
        "Taken for az's sake; it means nothing here.", panel=_POLICY
    )


POLICY = tuple(parameters(PolicyArgs))
NO_WAIT = switch(
    "no_wait", "--no-wait", help="Do not wait until it is done: return once it is accepted."
)
DRY_RUN = switch("dry_run", "--dry-run", help="Print what would change, and write nothing.")
REPLACE = switch(
    "replace", "--replace", help="Delete and create again where a change cannot be made in place."
)
IF_NOT_EXISTS = switch(
    "if_not_exists", "--if-not-exists", help="Leave what is there as it is, and print it."
)
YES = switch("yes", "--yes", "-y", help="Do not prompt for confirmation.")


_SET_METAVAR = "KEY=VALUE ..."
_SET_HELP = (
    "Set a field by its path: `tags.team=ds`, `settings.retry_settings.timeout=60`."
    ' A key with a dot is quoted: `tags."a.b"=x`.'
)
SetFlag = Annotated[
    list[TypedFlag] | None, OptionSpec("--set", metavar=_SET_METAVAR, help=_SET_HELP)
]
SET = option("set_", "--set", metavar=_SET_METAVAR, help=_SET_HELP)
GENERIC = (
    option("set_", "--set", metavar=_SET_METAVAR, help=_SET_HELP, panel=_UPDATE),
    option(
        "add",
        "--add",
        metavar="LIST VALUE|KEY=VALUE ...",
        help="Add to a list: the path of the list, then a value or the pairs of an object.",
        panel=_UPDATE,
    ),
    option(
        "remove",
        "--remove",
        metavar="PATH [INDEX] ...",
        help="Remove a field, a key or an element of a list: `tags.team`, `tags`, `LIST 0`.",
        panel=_UPDATE,
    ),
    switch(
        "force_string",
        "--force-string",
        help="Take the values of --set and --add as text.",
        panel=_UPDATE,
    ),
)
INSTANCE_ONLY = tuple(
    option(name, f"--{name.replace('_', '-')}", help=text, panel=_INSTANCE)
    for name, text in (
        ("user_object_id", "Of compute instances only; refused for a cluster."),
        ("user_tenant_id", "Of compute instances only; refused for a cluster."),
    )
)


def identity(kind: Kind, *, label: bool = True) -> Iterator[inspect.Parameter]:
    """The flags that name a resource which exists."""
    yield option("name", "--name", "-n", help=f"Name of the {kind.title}.", default=...)
    if kind.parent:
        yield option(
            "endpoint_name",
            "--endpoint-name",
            "-e",
            help=f"Name of the {ALL[kind.parent].title}.",
            default=...,
        )
    if kind.versioned:
        yield option("version", "--version", "-v", help="Version; the newest one unless given.")
    if kind.versioned and label:
        yield option("label", "--label", "-l", help="Label, in place of a version: latest.")


def registry(kind: Kind) -> Iterator[inspect.Parameter]:
    """The flag that names a registry to read, in place of the workspace."""
    if kind.versioned:
        text = "Read the registry of this name (`azureml` is Microsoft's), not the workspace."
        yield option("registry_name", "--registry-name", metavar="NAME", help=text)


def new_identity(kind: Kind) -> Iterator[inspect.Parameter]:
    """The flags that name a resource where a file may do so."""
    yield option("name", "--name", "-n", help=f"Name of the {kind.title}; over what the file says.")
    if kind.parent:
        yield option(
            "endpoint_name",
            "--endpoint-name",
            "-e",
            help=f"Name of the {ALL[kind.parent].title}; over what the file says.",
        )
    if kind.versioned:
        yield option("version", "--version", "-v", help="Version; the next one unless given.")


def listing(kind: Kind) -> Iterator[inspect.Parameter]:
    """The flags that narrow a list."""
    if kind.parent:
        yield option(
            "endpoint_name",
            "--endpoint-name",
            "-e",
            help=f"Name of the {ALL[kind.parent].title}.",
            default=...,
        )
    if kind.versioned:
        yield option(
            "name",
            "--name",
            "-n",
            help=f"Name of the {kind.title}: list its versions, newest first.",
        )
        yield switch("archived_only", "--archived-only", help="List archived ones only.")
        yield switch("include_archived", "--include-archived", help="List archived ones too.")
    for narrowing in kind.az.list_flags:
        yield option(narrowing.parameter, *narrowing.names, help=narrowing.help)
    if kind.az.limits_lists:
        yield option(
            "max_results",
            "--max-results",
            "-r",
            type_=int | None,
            metavar="N",
            help="List no more than N.",
        )


def file(*, required: bool) -> inspect.Parameter:
    """The flag that names the file."""
    text = "The YAML file; - for standard input."
    return option(
        "file", "--file", "-f", metavar="FILE", help=text, default=... if required else None
    )


def deploying(kind: Kind) -> Iterator[inspect.Parameter]:
    """The flags of `create` of what runs code under a parent."""
    if kind.az.route_flag is not None:
        yield switch("set_default", *kind.az.route_flag.names, help=kind.az.route_flag.help)
        yield switch(
            "skip_script_validation",
            "--skip-script-validation",
            help="Do not look into the scoring script.",
        )


def writing() -> Iterator[inspect.Parameter]:
    """The flags of every command that writes."""
    yield from (REPLACE, NO_WAIT, DRY_RUN, *POLICY)
