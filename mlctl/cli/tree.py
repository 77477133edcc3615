"""The commands and their flags as plain values: arguments are read and help is written by them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import NoneType
from typing import Any, get_args

from typer.core import TyperGroup
from typer.models import ArgumentInfo, OptionInfo

ARGUMENTS = "Arguments"
SWITCH = "{false, true}"  # the metavar of a flag that stands for `true` where no value follows
SEVERAL = "..."  # the end of the metavar of a flag that several values follow


class Takes(Enum):
    """What follows a flag."""

    NOTHING = "nothing"
    ONE = "one value"
    TRUTH = "true or false, or nothing"
    MANY = "several values"


@dataclass(frozen=True, slots=True)
class Option:
    """A flag: its names as declared, what follows it, and what help says of it."""

    names: tuple[str, ...]
    takes: Takes = Takes.NOTHING
    help: str = ""
    panel: str = ARGUMENTS
    required: bool = False
    metavar: str = ""
    choices: tuple[str, ...] = ()
    default: str = ""

    @property
    def long(self) -> str:
        """The name that messages use."""
        return next((name for name in self.names if name.startswith("--")), self.names[0])


_GLOBAL = "Global Arguments"
HELP = Option(("--help", "-h"), help="Show this message and exit.", panel=_GLOBAL)
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


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """A command, or a group of them (`nodes`), and where it stands: `("compute", "create")`."""

    path: tuple[str, ...]
    text: str
    options: tuple[Option, ...]
    positionals: tuple[Positional, ...] = ()
    nodes: Mapping[str, Node] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """The first sentence of the text, or the first paragraph where that is shorter."""
        return " ".join(self.text.partition("\n\n")[0].split())

    def commands(self) -> Iterator[Node]:
        """The commands at and below this node, in their order."""
        if not self.nodes:
            yield self
        for node in self.nodes.values():
            yield from node.commands()


def read(command: Any, path: tuple[str, ...] = ()) -> Node:
    """The node of a command of the parser, with all below it."""
    declared: tuple[inspect.Parameter, ...] = getattr(command, "declared", ())
    children = command.commands if isinstance(command, TyperGroup) else {}
    return Node(
        path,
        inspect.cleandoc(command.help or ""),
        (*_options(declared), *(() if path else COMPLETION), HELP),
        tuple(_positionals(declared)),
        {name: read(child, (*path, name)) for name, child in children.items() if not child.hidden},
    )


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
                info.metavar or "",
                _choices(base),
                _default(one.default),
            )


def _positionals(declared: Iterable[inspect.Parameter]) -> Iterator[Positional]:
    for one in declared:
        _, info = _annotation(one)
        if isinstance(info, ArgumentInfo):
            required = one.default is inspect.Parameter.empty
            yield Positional(info.metavar or one.name.upper(), info.help or "", required)


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
