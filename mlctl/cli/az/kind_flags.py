"""The flags of the commands of a kind that depend on the kind."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from mlctl.cli.az import common_flags as flags
from mlctl.cli.shell.command import option, switch
from mlctl.kinds import ALL, Kind


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
    for flag in kind.az.list_flags:
        yield option(flag.parameter, *flag.names, help=flag.help)
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
    yield from (flags.REPLACE, flags.NO_WAIT, flags.DRY_RUN, *flags.POLICY)
