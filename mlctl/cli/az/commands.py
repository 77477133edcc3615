"""The az-style commands of each kind, and the flags that each of them takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

from mlctl.cli.az import args as flags
from mlctl.cli.az import field_values, read
from mlctl.cli.parser.declare import CommandGroup, DeclaredParameter
from mlctl.cli.shell import Exit, Session
from mlctl.cli.shell.command import add, fill, option
from mlctl.cli.shell.command import register as register_commands
from mlctl.cli.shell.rule_choice import IGNORE
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
_ARCHIVING = {
    "archive": "Archived versions stay usable but are hidden in lists.",
    "restore": "Restored versions appear in lists again.",
}
_ENABLING = {"enable": "jobs again", "disable": "no jobs until it is enabled"}


class KindCommand(NamedTuple):
    """A command of a kind: its function and the record of its arguments, its flags, its help.

    `fields` are the flags that set fields of a resource: `args.fields` has their values. A name
    instead of a function is that of a command in `write`, which is imported when it runs.
    """

    name: str
    body: Callable[[Session, Kind, Any], Exit | None] | str
    args: type[Any]
    parameters: tuple[DeclaredParameter, ...]
    text: str
    fields: tuple[Flag, ...] = ()

    def run(self, kind: Kind, session: Session, values: dict[str, Any]) -> Exit | None:
        """Run the command with the values of its flags."""
        if self.fields:
            values["fields"] = {flag.parameter: values[flag.parameter] for flag in self.fields}
        args = fill(self.args, values)
        if not isinstance(self.body, str):
            return self.body(session, kind, args)
        from mlctl.cli.az import write

        return write.COMMANDS[self.body](session, kind, args)


def register(app: CommandGroup, kind_name: str) -> None:
    """Add the commands of a kind."""
    kind = KINDS[kind_name]
    group = CommandGroup(help=f"Manage {kind.title}s.")
    for command in _commands(kind):
        add(
            group,
            command.name,
            _body(command, kind),
            (*command.parameters, *flags.OUTPUT),
            command.text,
        )
    if kind.name in MORE:
        register_commands(group, import_module(MORE[kind.name]).COMMANDS[kind.name])
    app.groups[kind_name] = group


def _body(command: KindCommand, kind: Kind) -> Callable[..., Exit | None]:
    return lambda session, **values: command.run(kind, session, values)


def _commands(kind: Kind) -> Iterator[KindCommand]:
    """Return the commands that a kind has, in the order of its help."""
    a, identity, policy = with_article(kind.title), (*flags.identity(kind),), flags.POLICY
    anywhere = (*identity, *flags.registry(kind))
    versionless = (*flags.identity(kind, label=False),)
    yield _create(kind, a)
    yield _update(kind)
    if kind.az.resize_flag is not None:
        size = kind.az.resize_flag
        count = option(size.parameter, *size.names, help=size.help, metavar="N", default=...)
        parameters = (*identity, count, IGNORE, flags.NO_WAIT, flags.DRY_RUN, *policy)
        text = f"Change how many virtual machines {a} has."
        yield KindCommand("resize", "update", flags.WriteArgs, parameters, text, (size,))
    text = f"Show {a}. Exits with 3 if it does not exist."
    yield KindCommand("show", read.show, flags.NameArgs, anywhere, text)
    parameters = (*flags.listing(kind), *flags.registry(kind))
    text = f"List the {kind.title}s."
    yield KindCommand("list", read.list_, flags.ListArgs, parameters, text, kind.az.list_flags)
    parameters = (*versionless, flags.YES, flags.NO_WAIT, flags.DRY_RUN, *policy)
    yield KindCommand("delete", "delete", flags.WriteArgs, parameters, f"Delete {a}.")
    if kind.takes_time:
        text = f"Wait until {a} is created, updated or deleted, for example after --no-wait."
        yield KindCommand("wait", read.wait, flags.WaitArgs, (*identity, *read.FLAGS), text)
    if kind.versioned:
        yield from _of_assets(kind, a, anywhere)
    for name, effect in _ENABLING.items() if kind.content.job else ():
        parameters = (*versionless, flags.NO_WAIT, *policy)
        yield KindCommand(name, name, flags.WriteArgs, parameters, f"Let {a} start {effect}.")
    if kind.quota.has_nodes:
        yield from _of_clusters(identity)


def _create(kind: Kind, a: str) -> KindCommand:
    parameters = (
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
    )
    text = (
        f"Create {a} from a YAML file, from flags, or from both; flags take precedence.\n\n"
        f"If the {kind.title} exists, it is updated, after the changes are shown. Changes that"
        " cannot be made in place are refused unless --replace is given."
    )
    return KindCommand("create", "create", flags.WriteArgs, parameters, text, kind.az.create_flags)


def _update(kind: Kind) -> KindCommand:
    by_file = kind.updates_by_file
    parameters = (
        *([flags.file(required=False)] if by_file else ()),
        *(flags.new_identity(kind) if by_file else flags.identity(kind)),
        *flags.registry(kind),
        *field_values.parameters(kind.az.update_flags, kind, defaults=False),
        *flags.GENERIC,
        IGNORE,
        *flags.writing(),
    )
    over_file = " A file is merged into the live resource." if by_file else ""
    text = f"Update an existing {kind.title}. Fields that are not given stay the same.{over_file}"
    return KindCommand("update", "update", flags.WriteArgs, parameters, text, kind.az.update_flags)


def _of_assets(
    kind: Kind, a: str, anywhere: tuple[DeclaredParameter, ...]
) -> Iterator[KindCommand]:
    name_flag, *_ = anywhere
    for name, effect in _ARCHIVING.items():
        parameters = (*anywhere, flags.DRY_RUN, *flags.POLICY)
        text = f"{name.capitalize()} a version of {a}, or all of them. {effect}"
        yield KindCommand(name, name, flags.WriteArgs, parameters, text)
    if kind.name in _SHARED:
        text = f"Copy a version of {a} from the workspace to a registry."
        parameters = (name_flag, *flags.SHARING, *flags.POLICY)
        yield KindCommand("share", read.share, flags.ShareArgs, parameters, text)
    if kind.name in _DOWNLOADED:
        parameters = (name_flag, *flags.DOWNLOADING, *flags.POLICY)
        text = "Download the files of a model version.\n\nThey are written to `NAME` in the folder."
        yield KindCommand("download", read.download, flags.DownloadArgs, parameters, text)


def _of_clusters(identity: tuple[DeclaredParameter, ...]) -> Iterator[KindCommand]:
    place = (option("location", "-l", metavar="REGION"),)
    parameters = (*place, option("type_", "--type", "-t"), *flags.POLICY)
    text = "List the VM sizes that a region has, with vCPUs, memory and prices."
    yield KindCommand("list-sizes", read.list_sizes, flags.RegionArgs, parameters, text)
    parameters, text = (
        (*place, *flags.POLICY),
        "List what is used and allowed of each core quota.",
    )
    yield KindCommand("list-usage", read.list_usage, flags.RegionArgs, parameters, text)
    parameters, text = (*identity, *flags.POLICY), "List the nodes of a cluster."
    yield KindCommand("list-nodes", read.list_nodes, flags.NameArgs, parameters, text)
