"""The commands and their flags as plain values, read from typer's declarations.

Command lines are read, and help is written, by these values.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import NoneType
from typing import Any, TypeAlias, get_args, get_origin

import typer
from typer.models import ArgumentInfo, OptionInfo

ARGUMENTS = "Arguments"
COMMANDS = "Commands"
GLOBAL = "Global Arguments"
SIMULATED = "Simulated Cloud Arguments"  # flags that az does not have
SWITCH = "{false, true}"  # the metavar of a flag that stands for `true` where no value follows
SEVERAL = "..."  # the end of the metavar of a flag that several values follow

# Flags that are mlctl's own although they are listed among az's.
_OWN = ("--dry-run", "--replace", "--if-not-exists", "--backend", "--auth", "--cloud", "--timeout")


class Arity(Enum):
    """What follows a flag."""

    NONE = "nothing"
    ONE = "one value"
    BOOLEAN = "true or false, or nothing"
    MANY = "several values"


@dataclass(frozen=True, slots=True)
class FlagParameter:
    """The parameter of a function that a flag or positional is for; `min` and `max` included."""

    name: str = ""
    type: Any = str
    is_list: bool = False
    min: float | None = None
    max: float | None = None

    def allows(self, value: Any) -> bool:
        """Whether a value is within the bounds."""
        return (self.min is None or value >= self.min) and (self.max is None or value <= self.max)

    @property
    def bounds(self) -> str:
        """The bounds as text: `at least 1 and at most 64`."""
        bounds = {"at least": self.min, "at most": self.max}
        return " and ".join(
            f"{word} {bound}" for word, bound in bounds.items() if bound is not None
        )


@dataclass(frozen=True, slots=True)
class Option:
    """A flag: its names as declared, what follows it, and what help says of it."""

    names: tuple[str, ...]
    arity: Arity = Arity.NONE
    help: str = ""
    panel: str = ARGUMENTS
    required: bool = False
    choices: tuple[str, ...] = ()
    default: str = ""
    parameter: FlagParameter = FlagParameter()
    metavar: str = ""

    @property
    def long(self) -> str:
        """The first long name; the first name where there is none."""
        return next((name for name in self.names if name.startswith("--")), self.names[0])

    @property
    def is_az(self) -> bool:
        """Whether az has the flag; az's scripts abbreviate only az's own."""
        return self.panel != SIMULATED and self.long not in _OWN

    @property
    def all_names(self) -> str:
        """All names, as argparse's messages have them."""
        return "/".join(self.names)


HELP = Option(("--help", "-h"), help="Show this message and exit.", panel=GLOBAL)
# Flags of commands that print data, which az takes before the command too.
BEFORE_COMMAND = (Option(("--output", "-o"), Arity.ONE), Option(("--query",), Arity.ONE))
# Flags that typer adds to the root.
COMPLETION = (
    Option(("--install-completion",), help="Install completion for this shell.", panel=GLOBAL),
    Option(("--show-completion",), help="Show the completion, to copy it.", panel=GLOBAL),
)


@dataclass(frozen=True, slots=True)
class Positional:
    """A value that no flag introduces."""

    name: str
    help: str
    required: bool
    parameter: FlagParameter = FlagParameter()


Run: TypeAlias = Callable[..., int]


@dataclass(frozen=True, eq=False, slots=True)
class CommandNode:
    """A command (`run`), or a group of them (`children`), at a path: `("compute", "create")`.

    A command can have others beneath it: `simulate PATH` and `simulate training FILE`.

    `defaults` are the values of the parameters that a command line does not give. `section` is that
    of the help of the group which it is in.
    """

    path: tuple[str, ...]
    text: str
    options: tuple[Option, ...]
    positionals: tuple[Positional, ...] = ()
    children: Mapping[str, CommandNode] = field(default_factory=dict)
    run: Run | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    section: str = COMMANDS

    @property
    def summary(self) -> str:
        """The first paragraph of the text."""
        return " ".join(self.text.partition("\n\n")[0].split())

    def commands(self) -> Iterator[CommandNode]:
        """The commands at and below this node, in their order."""
        if self.run is not None:
            yield self
        for node in self.children.values():
            yield from node.commands()


def read(app: typer.Typer, path: tuple[str, ...] = ()) -> CommandNode:
    """The node of a group, with all below it."""
    children: dict[str, CommandNode] = {}
    for command in app.registered_commands:
        assert command.name is not None
        assert command.callback is not None
        node = _command(command.callback, command.help or "", (*path, command.name))
        children[command.name] = replace(node, section=_section(command.rich_help_panel))
    for group in app.registered_groups:
        assert isinstance(group.name, str)
        assert group.typer_instance is not None
        below = read(group.typer_instance, (*path, group.name))
        command_ = children.get(group.name)
        node = below if command_ is None else replace(command_, children=below.children)
        children[group.name] = replace(node, section=_section(group.rich_help_panel))
    root = app.registered_callback
    shared = _options(_parameters(root.callback)) if root is not None and root.callback else ()
    options = (*shared, *(() if path else COMPLETION), HELP)
    return CommandNode(path, inspect.cleandoc(app.info.help or ""), options, (), children)


def _section(panel: object) -> str:
    return panel if isinstance(panel, str) else COMMANDS


def _command(run: Run, text: str, path: tuple[str, ...]) -> CommandNode:
    parameters = _parameters(run)
    return CommandNode(
        path,
        inspect.cleandoc(text),
        (*_options(parameters), HELP),
        tuple(_positionals(parameters)),
        {},
        run,
        {parameter.name: parameter.default for parameter in parameters},
    )


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return [*inspect.signature(function).parameters.values()]


def _options(parameters: Iterable[inspect.Parameter]) -> Iterator[Option]:
    for parameter in parameters:
        base, info = _annotation(parameter)
        if isinstance(info, OptionInfo):
            is_switch = info.metavar == SWITCH
            yield Option(
                _names(parameter.name, info),
                _arity(base, info.metavar or ""),
                info.help or "",
                info.rich_help_panel or ARGUMENTS,
                parameter.default is inspect.Parameter.empty,
                ("false", "true") if is_switch else _choices(base),
                _default(parameter.default),
                _parameter(parameter.name, base, info),
                "" if is_switch else info.metavar or "",
            )


def _positionals(parameters: Iterable[inspect.Parameter]) -> Iterator[Positional]:
    for parameter in parameters:
        base, info = _annotation(parameter)
        if isinstance(info, ArgumentInfo):
            required = parameter.default is inspect.Parameter.empty
            name = info.metavar or parameter.name.upper()
            yield Positional(
                name, info.help or "", required, _parameter(parameter.name, base, info)
            )


def _parameter(name: str, base: Any, info: OptionInfo | ArgumentInfo) -> FlagParameter:
    is_list = get_origin(base) is list
    return FlagParameter(name, get_args(base)[0] if is_list else base, is_list, info.min, info.max)


def _names(name: str, info: OptionInfo) -> tuple[str, ...]:
    """The names as declared; in `Annotated`, typer's first argument is one of them."""
    first = (info.default,) if isinstance(info.default, str) else ()
    return (*first, *(info.param_decls or ())) or (f"--{name.replace('_', '-')}",)


def _annotation(parameter: inspect.Parameter) -> tuple[Any, Any]:
    """The type, without `None`, and what is declared to typer about it."""
    base, info, *_ = (*get_args(parameter.annotation), None, None)
    members = [member for member in get_args(base) if member is not NoneType]
    return (members[0] if NoneType in get_args(base) else base), info


def _arity(base: Any, metavar: str) -> Arity:
    if base is bool:
        return Arity.NONE
    if metavar == SWITCH:
        return Arity.BOOLEAN
    return Arity.MANY if metavar.endswith(SEVERAL) else Arity.ONE


def _choices(base: Any) -> tuple[str, ...]:
    is_enum = isinstance(base, type) and issubclass(base, Enum)
    return tuple(member.value for member in base) if is_enum else ()


def _default(value: Any) -> str:
    if value is inspect.Parameter.empty or value in (None, False, ""):
        return ""
    return str(value.value if isinstance(value, Enum) else value)
