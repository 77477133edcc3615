"""The az-style commands of each kind, and the flags that each of them takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import typer

from mlctl.cli.az import common_flags as flags
from mlctl.cli.az import field_flags, read, wait
from mlctl.cli.az.args import ListArgs, NameArgs, RegionArgs, WaitArgs, WriteArgs
from mlctl.cli.exits import Exit
from mlctl.cli.output import OutputArgs, checked
from mlctl.cli.parser.command import add, fill, option, switch
from mlctl.cli.session import Session
from mlctl.kinds import KINDS, Kind
from mlctl.kinds.flags import Flag
from mlctl.schema.text import with_article

_Args = TypeVar("_Args", bound=OutputArgs)


@dataclass(frozen=True, slots=True)
class KindCommand(Generic[_Args]):
    """A command of a kind: what it does with which arguments, its own flags, what help says.

    `fields` are the flags that give fields of a resource their values: `args.fields` has these.
    """

    name: str
    body: Callable[[Session, Kind, _Args], Exit]
    args: type[_Args]
    own: tuple[inspect.Parameter, ...]
    text: str
    fields: tuple[Flag, ...] = ()


def register(app: typer.Typer, kind_name: str) -> None:
    """Add the commands of a kind."""
    kind = KINDS[kind_name]
    group = typer.Typer(help=f"Manage {_plural(kind)}.")
    for one in _commands(kind):
        add(group, one.name, _body(one, kind), (*one.own, *flags.OUTPUT), one.text)
    if not kind.versioned:  # nothing runs on an asset
        from mlctl.cli.az import invoke

        invoke.register(group, kind)
    app.add_typer(group, name=kind_name)


def _body(command: KindCommand[_Args], kind: Kind) -> Callable[..., Exit]:
    """The command as a function of the values of its flags."""

    def body(session: Session, **values: Any) -> Exit:
        if command.fields:
            values["fields"] = {one.parameter: values[one.parameter] for one in command.fields}
        args = fill(command.args, values)
        checked(args.query)
        return command.body(session, kind, args)

    return body


def _write(name: str) -> Callable[[Session, Kind, WriteArgs], Exit]:
    """A command that writes; what that takes is imported when it is run."""

    def body(session: Session, kind: Kind, args: WriteArgs) -> Exit:
        from mlctl.cli.az import write

        return write.COMMANDS[name](session, kind, args)

    return body


def _commands(kind: Kind) -> Iterator[KindCommand[Any]]:
    yield _create(kind)
    yield _update(kind)
    if kind.resize_flag is not None:
        yield _resize(kind, kind.resize_flag)
    yield KindCommand(
        "show",
        read.show,
        NameArgs,
        tuple(_identity(kind)),
        f"Show {_a(kind)}. Exits with 3 when there is none.",
    )
    yield KindCommand(
        "list",
        read.list_,
        ListArgs,
        tuple(_listing(kind)),
        f"List the {_plural(kind)}.",
        kind.list_flags,
    )
    yield _delete(kind)
    if kind.takes_time:
        yield _wait(kind)
    if kind.versioned:
        yield _archive(kind, "archive", "They stay usable, and are left out of lists.")
        yield _archive(kind, "restore", "They are in lists again.")
    if kind.has_nodes:
        yield from _of_clusters(kind)


def _create(kind: Kind) -> KindCommand[Any]:
    own = [
        _file(required=bool(kind.parent)),
        *_new_identity(kind),
        *field_flags.parameters(kind.create_flags, kind, defaults=True),
        *(flags.INSTANCE_ONLY if kind.live_type else ()),
        flags.SET,
        *(_SET_DEFAULT if kind.parent else ()),
        flags.IF_NOT_EXISTS,
        *_writing(),
    ]
    return KindCommand(
        "create",
        _write("create"),
        WriteArgs,
        tuple(own),
        f"Create {_a(kind)} from a YAML file, from flags, or from both, flags over the file.\n\n"
        f"Where the {_name(kind)} exists, it is brought to what is said here. What changes is shown"
        " first; what cannot be changed in place is refused unless --replace is given.",
        kind.create_flags,
    )


def _update(kind: Kind) -> KindCommand[Any]:
    by_file = kind.updates_by_file
    own = [
        *([_file(required=False)] if by_file else ()),
        *(_new_identity(kind) if by_file else _identity(kind)),
        *field_flags.parameters(kind.update_flags, kind, defaults=False),
        *flags.GENERIC,
        *_writing(),
    ]
    over_file = " A file is laid over the live one." if by_file else ""
    return KindCommand(
        "update",
        _write("update"),
        WriteArgs,
        tuple(own),
        f"Change {_a(kind)} that exists. What is not said stays as it is.{over_file}",
        kind.update_flags,
    )


def _resize(kind: Kind, size: Flag) -> KindCommand[Any]:
    many = option(size.parameter, *size.names, metavar="N", help=size.help, default=...)
    own = (*_identity(kind), many, flags.NO_WAIT, flags.DRY_RUN, *flags.POLICY)
    return KindCommand(
        "resize",
        _write("update"),
        WriteArgs,
        own,
        f"Change how many virtual machines {_a(kind)} has.",
        (size,),
    )


def _delete(kind: Kind) -> KindCommand[Any]:
    own = (*_identity(kind, label=False), flags.YES, flags.NO_WAIT, flags.DRY_RUN, *flags.POLICY)
    return KindCommand("delete", _write("delete"), WriteArgs, own, f"Delete {_a(kind)}.")


def _wait(kind: Kind) -> KindCommand[Any]:
    text = (
        f"Wait until {_a(kind)} is made, changed or gone, after --no-wait or somebody else's write."
    )
    return KindCommand("wait", wait.wait, WaitArgs, (*_identity(kind), *wait.FLAGS), text)


def _archive(kind: Kind, name: str, what: str) -> KindCommand[Any]:
    own = (*_identity(kind), flags.DRY_RUN, *flags.POLICY)
    text = f"{name.capitalize()} a version of {_a(kind)}, or all of them. {what}"
    return KindCommand(name, _write(name), WriteArgs, own, text)


def _of_clusters(kind: Kind) -> Iterator[KindCommand[Any]]:
    place = option(
        "location",
        "--location",
        "-l",
        metavar="REGION",
        help="The region; the workspace's unless given.",
    )
    types = option("type_", "--type", "-t", help="Type of compute: AmlCompute or ComputeInstance.")
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
        (*_identity(kind), *flags.POLICY),
        "List the nodes of a cluster.",
    )


def _identity(kind: Kind, *, label: bool = True) -> Iterator[inspect.Parameter]:
    """The flags that name a resource which exists."""
    yield option("name", "--name", "-n", help=f"Name of the {_name(kind)}.", default=...)
    if kind.parent:
        yield option(
            "endpoint_name",
            "--endpoint-name",
            "-e",
            help="Name of the batch endpoint.",
            default=...,
        )
    if kind.versioned:
        yield option("version", "--version", "-v", help="Version; the newest one unless given.")
    if kind.versioned and label:
        yield option("label", "--label", "-l", help="Label, in place of a version: latest.")


def _new_identity(kind: Kind) -> Iterator[inspect.Parameter]:
    """The flags that name a resource where a file may do so."""
    yield option(
        "name", "--name", "-n", help=f"Name of the {_name(kind)}; over what the file says."
    )
    if kind.parent:
        yield option(
            "endpoint_name",
            "--endpoint-name",
            "-e",
            help="Name of the batch endpoint; over what the file says.",
        )
    if kind.versioned:
        yield option("version", "--version", "-v", help="Version; the next one unless given.")


def _listing(kind: Kind) -> Iterator[inspect.Parameter]:
    if kind.parent:
        yield option(
            "endpoint_name",
            "--endpoint-name",
            "-e",
            help="Name of the batch endpoint.",
            default=...,
        )
    if kind.versioned:
        yield option(
            "name",
            "--name",
            "-n",
            help=f"Name of the {_name(kind)}: list its versions, newest first.",
        )
        yield switch("archived_only", "--archived-only", help="List archived ones only.")
        yield switch("include_archived", "--include-archived", help="List archived ones too.")
    for flag in kind.list_flags:
        yield option(flag.parameter, *flag.names, help=flag.help)
    if kind.limits_lists:
        yield option(
            "max_results",
            "--max-results",
            "-r",
            type_=int | None,
            metavar="N",
            help="List no more than N.",
        )


def _file(*, required: bool) -> inspect.Parameter:
    text = "The YAML file; - for standard input."
    return option(
        "file", "--file", "-f", metavar="FILE", help=text, default=... if required else None
    )


_SET_DEFAULT = (
    switch(
        "set_default",
        "--set-default",
        help="Make it the endpoint's default deployment; read back and proved.",
    ),
    switch(
        "skip_script_validation",
        "--skip-script-validation",
        help="Do not look into the scoring script.",
    ),
)


def _writing() -> Iterator[inspect.Parameter]:
    yield from (flags.REPLACE, flags.NO_WAIT, flags.DRY_RUN, *flags.POLICY)


def _name(kind: Kind) -> str:
    return str(kind.schema["title"]).lower()


def _a(kind: Kind) -> str:
    return with_article(_name(kind))


def _plural(kind: Kind) -> str:
    return f"{_name(kind)}s"
