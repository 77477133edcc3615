"""The commands and their flags as plain values: arguments are read and help is written by them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import NoneType
from typing import Any, TypeAlias, get_args, get_origin

import typer
from typer.models import ArgumentInfo, CommandInfo, OptionInfo

from mlctl.cli.parser.command import Command, Group

ARGUMENTS = "Arguments"
SIMULATED = "Simulated Cloud Arguments"  # flags that az does not have
SWITCH = "{false, true}"  # the metavar of a flag that stands for `true` where no value follows
SEVERAL = "..."  # the end of the metavar of a flag that several values follow


_TRUTHS = ("false", "true")
# What stands among az's flags and is not az's.
_OURS = ("--dry-run", "--replace", "--if-not-exists", "--backend", "--auth", "--cloud", "--timeout")


class Takes(Enum):
    """What follows a flag."""

    NOTHING = "nothing"
    ONE = "one value"
    TRUTH = "true or false, or nothing"
    MANY = "several values"


@dataclass(frozen=True, slots=True)
class Slot:
    """The parameter that a value is for: its name, its type, its bounds; `several` makes a list."""

    name: str = ""
    kind: Any = str
    several: bool = False
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class Option:
    """A flag: its names as declared, what follows it, and what help says of it."""

    names: tuple[str, ...]
    takes: Takes = Takes.NOTHING
    help: str = ""
    panel: str = ARGUMENTS
    required: bool = False
    choices: tuple[str, ...] = ()
    default: str = ""
    slot: Slot = Slot()
    metavar: str = ""

    @property
    def long(self) -> str:
        """The name that messages use."""
        return next((name for name in self.names if name.startswith("--")), self.names[0])

    @property
    def of_az(self) -> bool:
        """Whether az has it too; az's scripts cut only its own flags short."""
        return self.panel != SIMULATED and self.long not in _OURS

    @property
    def spelt(self) -> str:
        """All names, as argparse has them in its messages."""
        return "/".join(self.names)


_GLOBAL = "Global Arguments"
HELP = Option(("--help", "-h"), help="Show this message and exit.", panel=_GLOBAL)
# What commands that print data take, and az takes before the verb too.
BEFORE = (Option(("--output", "-o"), Takes.ONE), Option(("--query",), Takes.ONE))
# What typer adds to the root.
COMPLETION = (
    Option(("--install-completion",), help="Install completion for this shell.", panel=_GLOBAL),
    Option(("--show-completion",), help="Show the completion, to copy it.", panel=_GLOBAL),
)


@dataclass(frozen=True, slots=True)
class Positional:
    """A value that no flag introduces."""

    name: str
    help: str
    required: bool
    slot: Slot = Slot()


Run: TypeAlias = Callable[..., int]


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """A command (`run`), or a group of them (`nodes`), and where it is: `("compute", "create")`.

    `defaults` are the values of the parameters that a line says nothing of.
    """

    path: tuple[str, ...]
    text: str
    options: tuple[Option, ...]
    positionals: tuple[Positional, ...] = ()
    nodes: Mapping[str, Node] = field(default_factory=dict)
    run: Run | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """The first paragraph of the text."""
        return " ".join(self.text.partition("\n\n")[0].split())

    def commands(self) -> Iterator[Node]:
        """The commands at and below this node, in their order."""
        if not self.nodes:
            yield self
        for node in self.nodes.values():
            yield from node.commands()


def read(app: typer.Typer, path: tuple[str, ...] = ()) -> Node:
    """The node of a group, with all below it."""
    made = app.registered_callback.cls if app.registered_callback else None
    declared = made.declared if made is not None and issubclass(made, Group) else ()
    nodes = {
        one.name: _command(one, (*path, one.name))
        for one in app.registered_commands
        if one.name is not None and not one.hidden
    }
    for one in app.registered_groups:
        if one.typer_instance is not None and isinstance(one.name, str):
            nodes[one.name] = read(one.typer_instance, (*path, one.name))
    options = (*_options(declared), *(() if path else COMPLETION), HELP)
    return Node(path, _text(app.info.help), options, (), nodes)


def _command(info: CommandInfo, path: tuple[str, ...]) -> Node:
    made = info.cls
    assert made is not None
    assert issubclass(made, Command)
    declared = made.declared
    return Node(
        path,
        _text(made.text),
        (*_options(declared), HELP),
        tuple(_positionals(declared)),
        {},
        made.run,
        {one.name: one.default for one in declared},
    )


def _text(given: Any) -> str:
    return inspect.cleandoc(given) if isinstance(given, str) else ""


def _options(declared: Iterable[inspect.Parameter]) -> Iterator[Option]:
    for one in declared:
        base, info = _annotation(one)
        if isinstance(info, OptionInfo) and not info.hidden:
            yield Option(
                _names(one.name, info),
                _takes(base, info),
                info.help or "",
                info.rich_help_panel or ARGUMENTS,
                one.default is inspect.Parameter.empty,
                _TRUTHS if info.metavar == SWITCH else _choices(base),
                _default(one.default),
                _slot(one.name, base, info),
                "" if info.metavar == SWITCH else info.metavar or "",
            )


def _positionals(declared: Iterable[inspect.Parameter]) -> Iterator[Positional]:
    for one in declared:
        base, info = _annotation(one)
        if isinstance(info, ArgumentInfo):
            required = one.default is inspect.Parameter.empty
            name = info.metavar or one.name.upper()
            yield Positional(name, info.help or "", required, _slot(one.name, base, info))


def _slot(name: str, base: Any, info: OptionInfo | ArgumentInfo) -> Slot:
    several = get_origin(base) is list
    return Slot(name, get_args(base)[0] if several else base, several, info.min, info.max)


def _names(name: str, info: OptionInfo) -> tuple[str, ...]:
    """The names as declared; in `Annotated`, typer's first argument is one of them."""
    first = (info.default,) if isinstance(info.default, str) else ()
    spelt = (*first, *(info.param_decls or ())) or (f"--{name.replace('_', '-')}",)
    return tuple(part for one in spelt for part in one.split("/"))


def _annotation(one: inspect.Parameter) -> tuple[Any, Any]:
    """The type, without `None`, and what typer is told about it."""
    base, info, *_ = (*get_args(one.annotation), None, None)
    members = [each for each in get_args(base) if each is not NoneType]
    return (members[0] if NoneType in get_args(base) else base), info


def _takes(base: Any, info: OptionInfo) -> Takes:
    if base is bool:
        return Takes.NOTHING
    if info.metavar == SWITCH:
        return Takes.TRUTH
    return Takes.MANY if (info.metavar or "").endswith(SEVERAL) else Takes.ONE


def _choices(base: Any) -> tuple[str, ...]:
    return (
        tuple(one.value for one in base)
        if isinstance(base, type) and issubclass(base, Enum)
        else ()
    )


def _default(value: Any) -> str:
    if value is inspect.Parameter.empty or value in (None, False, ""):
        return ""
    return str(value.value if isinstance(value, Enum) else value)
