"""The az-style commands: which verbs each kind has, and which flags each verb takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import typer

from mlctl.cli.az import common_flags as flags
from mlctl.cli.az import field_flags, read, wait
from mlctl.cli.exits import Exit
from mlctl.cli.output import compiled
from mlctl.cli.parser.command import add, option, switch
from mlctl.cli.session import Session
from mlctl.kinds import KINDS, Kind
from mlctl.kinds.flags import Flag
from mlctl.schema.text import with_article

Parameters: TypeAlias = Iterable[inspect.Parameter]
Body: TypeAlias = Callable[[Session, Kind, Mapping[str, Any]], Exit]


@dataclass(frozen=True, slots=True)
class Verb:
    """A command of a kind: what it does, its own flags, what help says."""

    name: str
    body: Body
    own: tuple[inspect.Parameter, ...]
    text: str


def register(app: typer.Typer, kind_name: str) -> None:
    """Add the commands of a kind."""
    kind = KINDS[kind_name]
    group = typer.Typer(help=f"Manage {_plural(kind)}.")
    for verb in _verbs(kind):
        add(group, verb.name, _bound(verb, kind), _ordered(verb.own), verb.text)
    if not kind.versioned:  # nothing runs on an asset
        from mlctl.cli.az import invoke

        invoke.register(group, kind)
    app.add_typer(group, name=kind_name)


def _bound(verb: Verb, kind: Kind) -> Callable[..., Exit]:
    def body(session: Session, **words: Any) -> Exit:
        if words["query"] is not None:
            compiled(words["query"])
        return verb.body(session, kind, words)

    return body


def _written(name: str) -> Body:
    """A verb that writes; what that takes is imported when it is done, not when it is known."""

    def body(session: Session, kind: Kind, words: Mapping[str, Any]) -> Exit:
        from mlctl.cli.az import write

        return write.VERBS[name](session, kind, words)

    return body


def _ordered(own: Parameters) -> list[inspect.Parameter]:
    return [*own, flags.OUTPUT, flags.QUERY]


def _verbs(kind: Kind) -> Iterator[Verb]:
    yield _create(kind)
    yield _update(kind)
    if kind.resize_flag is not None:
        yield _resize(kind, kind.resize_flag)
    yield Verb(
        "show",
        read.show,
        tuple(_identity(kind)),
        f"Show {_a(kind)}. Exits with 3 when there is none.",
    )
    yield Verb("list", read.list_, tuple(_listing(kind)), f"List the {_plural(kind)}.")
    yield _delete(kind)
    if kind.takes_time:
        yield _wait(kind)
    if kind.versioned:
        yield _archive(kind, "archive", "They stay usable, and are left out of lists.")
        yield _archive(kind, "restore", "They are in lists again.")
    if kind.has_nodes:
        yield from _of_clusters(kind)


def _create(kind: Kind) -> Verb:
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
    return Verb(
        "create",
        _written("create"),
        tuple(own),
        f"Create {_a(kind)} from a YAML file, from flags, or from both, flags over the file.\n\n"
        f"Where the {_name(kind)} exists, it is brought to what is said here. What changes is shown"
        " first; what cannot be changed in place is refused unless --replace is given.",
    )


def _update(kind: Kind) -> Verb:
    by_file = kind.updates_by_file
    own = [
        *([_file(required=False)] if by_file else ()),
        *(_new_identity(kind) if by_file else _identity(kind)),
        *field_flags.parameters(kind.update_flags, kind, defaults=False),
        *flags.GENERIC,
        *_writing(),
    ]
    over_file = " A file is laid over the live one." if by_file else ""
    return Verb(
        "update",
        _written("update"),
        tuple(own),
        f"Change {_a(kind)} that exists. What is not said stays as it is.{over_file}",
    )


def _resize(kind: Kind, size: Flag) -> Verb:
    many = option(size.parameter, *size.names, metavar="N", help=size.help, default=...)
    own = (*_identity(kind), many, flags.NO_WAIT, flags.DRY_RUN, *flags.POLICY)
    return Verb(
        "resize", _written("update"), own, f"Change how many virtual machines {_a(kind)} has."
    )


def _delete(kind: Kind) -> Verb:
    own = (*_identity(kind, label=False), flags.YES, flags.NO_WAIT, flags.DRY_RUN, *flags.POLICY)
    return Verb("delete", _written("delete"), own, f"Delete {_a(kind)}.")


def _wait(kind: Kind) -> Verb:
    text = (
        f"Wait until {_a(kind)} is made, changed or gone, after --no-wait or somebody else's write."
    )
    return Verb("wait", wait.wait, (*_identity(kind), *wait.FLAGS), text)


def _archive(kind: Kind, name: str, what: str) -> Verb:
    own = (*_identity(kind), flags.DRY_RUN, *flags.POLICY)
    text = f"{name.capitalize()} a version of {_a(kind)}, or all of them. {what}"
    return Verb(name, _written(name), own, text)


def _of_clusters(kind: Kind) -> Iterator[Verb]:
    place = option(
        "location",
        "--location",
        "-l",
        metavar="REGION",
        help="The region; the workspace's unless given.",
    )
    types = option("type_", "--type", "-t", help="Type of compute: AmlCompute or ComputeInstance.")
    yield Verb(
        "list-sizes",
        read.list_sizes,
        (place, types, *flags.POLICY),
        "List the VM sizes that a region has, with vCPUs, memory and prices.",
    )
    yield Verb(
        "list-usage",
        read.list_usage,
        (place, *flags.POLICY),
        "List what is used and allowed of each core quota.",
    )
    yield Verb(
        "list-nodes",
        read.list_nodes,
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
