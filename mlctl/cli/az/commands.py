"""The az-style commands of each kind, and the flags that each of them takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Generic, TypeVar

from mlctl.cli.az import args as flags
from mlctl.cli.az import field_values, read
from mlctl.cli.az.args import (
    DownloadArgs,
    ListArgs,
    NameArgs,
    RegionArgs,
    ShareArgs,
    WaitArgs,
    WriteArgs,
)
from mlctl.cli.parser.declare import CommandGroup, DeclaredParameter
from mlctl.cli.shell import Exit, Session
from mlctl.cli.shell.command import add, fill, option
from mlctl.cli.shell.command import register as register_commands
from mlctl.cli.shell.output import OutputArgs
from mlctl.cli.shell.rule_choice import IGNORE
from mlctl.dataclasses import dataclass
from mlctl.kinds import KINDS, Kind
from mlctl.kinds.facts import Flag
from mlctl.schema.text import with_article

# The modules whose COMMANDS have those of a kind beyond the ones that all kinds have.
MORE = {
    "compute": "mlctl.cli.az.compute",
    "batch-endpoint": "mlctl.cli.az.invoke",
    "batch-deployment": "mlctl.cli.az.invoke",
    "batch-pool": "mlctl.cli.az.submit",
    "schedule": "mlctl.cli.az.submit",
    "online-endpoint": "mlctl.cli.az.scoring",
    "online-deployment": "mlctl.cli.az.scoring",
}
_SHARED = ("model", "environment", "data")  # kinds that az copies to a registry
_DOWNLOADED = ("model",)  # ... and whose files it downloads to a folder
_Args = TypeVar("_Args", bound=OutputArgs)


@dataclass(frozen=True, slots=True)
class KindCommand(Generic[_Args]):
    """A command of a kind: its function, its arguments, its own flags, its help.

    `fields` are the flags that set fields of a resource: `args.fields` has their values.
    """

    name: str
    body: Callable[[Session, Kind, _Args], Exit | None]
    args: type[_Args]
    own: tuple[DeclaredParameter, ...]
    text: str
    fields: tuple[Flag, ...] = ()


def register(app: CommandGroup, kind_name: str) -> None:
    """Add the commands of a kind."""
    kind = KINDS[kind_name]
    group = CommandGroup(help=f"Manage {_plural(kind)}.")
    for command in _commands(kind):
        add(group, command.name, _body(command, kind), (*command.own, *flags.OUTPUT), command.text)
    if kind.name in MORE:
        register_commands(group, import_module(MORE[kind.name]).COMMANDS[kind.name])
    app.groups[kind_name] = group


def _body(command: KindCommand[_Args], kind: Kind) -> Callable[..., Exit | None]:
    """Return the command as a function of the values of its flags."""

    def body(session: Session, **values: Any) -> Exit | None:
        if command.fields:
            values["fields"] = {flag.parameter: values[flag.parameter] for flag in command.fields}
        args = fill(command.args, values)
        return command.body(session, kind, args)

    return body


def _write(name: str) -> Callable[[Session, Kind, WriteArgs], Exit]:
    """Return a command that writes; `write` is imported when it runs."""

    def body(session: Session, kind: Kind, args: WriteArgs) -> Exit:
        from mlctl.cli.az import write

        return write.COMMANDS[name](session, kind, args)

    return body


def _commands(kind: Kind) -> Iterator[KindCommand[Any]]:
    yield _create(kind)
    yield _update(kind)
    if kind.az.resize_flag is not None:
        yield _resize(kind, kind.az.resize_flag)
    yield KindCommand(
        "show",
        read.show,
        NameArgs,
        (*flags.identity(kind), *flags.registry(kind)),
        f"Show {_a(kind)}. Exits with 3 if it does not exist.",
    )
    yield KindCommand(
        "list",
        read.list_,
        ListArgs,
        (*flags.listing(kind), *flags.registry(kind)),
        f"List the {_plural(kind)}.",
        kind.az.list_flags,
    )
    yield _delete(kind)
    if kind.takes_time:
        yield _wait(kind)
    if kind.versioned:
        yield _archive(kind, "archive", "Archived versions stay usable but are hidden in lists.")
        yield _archive(kind, "restore", "Restored versions appear in lists again.")
    if kind.content.job:
        parameters = (*flags.identity(kind, label=False), flags.NO_WAIT, *flags.POLICY)
        text = f"Let {_a(kind)} start jobs again."
        yield KindCommand("enable", _write("enable"), WriteArgs, parameters, text)
        text = f"Let {_a(kind)} start no jobs until it is enabled."
        yield KindCommand("disable", _write("disable"), WriteArgs, parameters, text)
    if kind.name in _SHARED:
        text = f"Copy a version of {_a(kind)} from the workspace to a registry."
        share = read.share
        yield KindCommand("share", share, ShareArgs, tuple(flags.sharing(kind)), text)
    if kind.name in _DOWNLOADED:
        text = "Download the files of a model version.\n\nThey are written to `NAME` in the folder."
        download = read.download
        yield KindCommand("download", download, DownloadArgs, tuple(flags.downloading(kind)), text)
    if kind.quota.has_nodes:
        yield from _of_clusters(kind)


def _create(kind: Kind) -> KindCommand[Any]:
    parameters = [
        flags.file(required=kind.az.needs_file),
        *flags.new_identity(kind),
        *flags.registry(kind),
        *field_values.parameters(kind.az.create_flags, kind, defaults=True),
        *(flags.INSTANCE_ONLY if kind.arm.shared_with else ()),
        flags.SET,
        *flags.deploying(kind),
        flags.IF_NOT_EXISTS,
        IGNORE,
        *flags.writing(),
    ]
    return KindCommand(
        "create",
        _write("create"),
        WriteArgs,
        tuple(parameters),
        f"Create {_a(kind)} from a YAML file, from flags, or from both; flags take precedence.\n\n"
        f"If the {kind.title} exists, it is updated, after the changes are shown. Changes that"
        " cannot be made in place are refused unless --replace is given.",
        kind.az.create_flags,
    )


def _update(kind: Kind) -> KindCommand[Any]:
    by_file = kind.updates_by_file
    parameters = [
        *([flags.file(required=False)] if by_file else ()),
        *(flags.new_identity(kind) if by_file else flags.identity(kind)),
        *flags.registry(kind),
        *field_values.parameters(kind.az.update_flags, kind, defaults=False),
        *flags.GENERIC,
        IGNORE,
        *flags.writing(),
    ]
    over_file = " A file is merged into the live resource." if by_file else ""
    return KindCommand(
        "update",
        _write("update"),
        WriteArgs,
        tuple(parameters),
        f"Update an existing {kind.title}. Fields that are not given stay the same.{over_file}",
        kind.az.update_flags,
    )


def _resize(kind: Kind, size: Flag) -> KindCommand[Any]:
    count = option(size.parameter, *size.names, help=size.help, metavar="N", default=...)
    parameters = (
        *flags.identity(kind),
        count,
        IGNORE,
        flags.NO_WAIT,
        flags.DRY_RUN,
        *flags.POLICY,
    )
    return KindCommand(
        "resize",
        _write("update"),
        WriteArgs,
        parameters,
        f"Change how many virtual machines {_a(kind)} has.",
        (size,),
    )


def _delete(kind: Kind) -> KindCommand[Any]:
    parameters = (
        *flags.identity(kind, label=False),
        flags.YES,
        flags.NO_WAIT,
        flags.DRY_RUN,
        *flags.POLICY,
    )
    return KindCommand("delete", _write("delete"), WriteArgs, parameters, f"Delete {_a(kind)}.")


def _wait(kind: Kind) -> KindCommand[Any]:
    text = f"Wait until {_a(kind)} is created, updated or deleted, for example after --no-wait."
    return KindCommand("wait", read.wait, WaitArgs, (*flags.identity(kind), *read.FLAGS), text)


def _archive(kind: Kind, name: str, what: str) -> KindCommand[Any]:
    parameters = (*flags.identity(kind), *flags.registry(kind), flags.DRY_RUN, *flags.POLICY)
    text = f"{name.capitalize()} a version of {_a(kind)}, or all of them. {what}"
    return KindCommand(name, _write(name), WriteArgs, parameters, text)


def _of_clusters(kind: Kind) -> Iterator[KindCommand[Any]]:
    place = option("location", "-l", metavar="REGION")
    types = option("type_", "--type", "-t")
    yield KindCommand(
        "list-sizes",
        read.list_sizes,
        RegionArgs,
        (place, types, *flags.POLICY),
        "List the VM sizes that a region has, with vCPUs, memory and prices.",
    )
    yield KindCommand(
        "list-usage",
        read.list_usage,
        RegionArgs,
        (place, *flags.POLICY),
        "List what is used and allowed of each core quota.",
    )
    yield KindCommand(
        "list-nodes",
        read.list_nodes,
        NameArgs,
        (*flags.identity(kind), *flags.POLICY),
        "List the nodes of a cluster.",
    )


def _a(kind: Kind) -> str:
    return with_article(kind.title)


def _plural(kind: Kind) -> str:
    return f"{kind.title}s"
