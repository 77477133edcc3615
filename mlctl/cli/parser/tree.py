"""The commands and their flags as plain values, read from their declarations.

The parser and the help use these values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from types import MappingProxyType, NoneType
from typing import Any, Literal, TypeAlias, get_args, get_origin

from mlctl.cli.parser.declare import (
    ARGUMENTS,
    COMMANDS,
    REQUIRED,
    ArgumentSpec,
    CommandGroup,
    DeclaredParameter,
    OptionSpec,
    Suggest,
)
from mlctl.dataclasses import dataclass, field, replace

GLOBAL = "Global Arguments"
SIMULATED = "Simulated Cloud Arguments"  # flags that az does not have
SWITCH = "{false, true}"  # the metavar of a flag that stands for `true` if no value follows
SEVERAL = "..."  # the end of the metavar of a flag with several values

# mlctl's own flags that are listed among az's.
_OWN = ("--dry-run", "--replace", "--if-not-exists", "--backend", "--auth", "--cloud", "--timeout")


class Arity(Enum):
    """What follows a flag."""

    NONE = "nothing"
    ONE = "one value"
    BOOLEAN = "true or false, or nothing"
    MANY = "several values"


@dataclass(frozen=True, slots=True)
class FlagParameter:
    """The function's parameter for a flag or positional; `min` and `max` are inclusive."""

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
        """Return the bounds as text: `at least 1 and at most 64`."""
        bounds = {"at least": self.min, "at most": self.max}
        return " and ".join(
            f"{word} {bound}" for word, bound in bounds.items() if bound is not None
        )


@dataclass(frozen=True, slots=True)
class Option:
    """A flag: its names as declared, its values, and its help."""

    names: tuple[str, ...]
    arity: Arity = Arity.NONE
    help: str = ""
    panel: str = ARGUMENTS
    required: bool = False
    choices: tuple[str, ...] = ()
    default: str = ""
    parameter: FlagParameter = FlagParameter()
    metavar: str = ""
    suggest: Suggest = ()

    @property
    def long(self) -> str:
        """Return the first long name; the first name if there is none."""
        return next((name for name in self.names if name.startswith("--")), self.names[0])

    @property
    def is_az(self) -> bool:
        """Whether az has the flag; az's scripts abbreviate only az's own."""
        return self.panel != SIMULATED and self.long not in _OWN

    @property
    def all_names(self) -> str:
        """Return all names, as argparse's messages have them."""
        return "/".join(self.names)


HELP = Option(("--help", "-h"), help="Show this message and exit.", panel=GLOBAL)
# Flags of commands that print data, which az also accepts before the command.
BEFORE_COMMAND = (Option(("--output", "-o"), Arity.ONE), Option(("--query",), Arity.ONE))
# Flags of the root only.
INSTALL_COMPLETION = Option(
    ("--install-completion",), help="Install completion for this shell.", panel=GLOBAL
)
COMPLETION = (
    INSTALL_COMPLETION,
    Option(("--show-completion",), help="Print the completion script.", panel=GLOBAL),
)


@dataclass(frozen=True, slots=True)
class Positional:
    """A positional value."""

    name: str
    help: str
    required: bool
    parameter: FlagParameter = FlagParameter()


Run: TypeAlias = Callable[..., int]


@dataclass(frozen=True, eq=False, slots=True)
class CommandNode:
    """A command (`run`), or a group of them (`children`), at a path: `("compute", "create")`.

    A command can have subcommands: `simulate PATH` and `simulate training FILE`.

    `defaults` are the values of absent parameters. `section` is that of the parent group's help.
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
        """Return the first paragraph of the text."""
        return " ".join(self.text.partition("\n\n")[0].split())

    def commands(self) -> Iterator[CommandNode]:
        """Return the commands at and below this node, in order."""
        if self.run is not None:
            yield self
        for node in self.children.values():
            yield from node.commands()


def read(
    group: CommandGroup,
    path: tuple[str, ...] = (),
    sections: Mapping[str, str] = MappingProxyType({}),
) -> CommandNode:
    """Read the node of a group, with all below it; `sections` are those of its help, by name."""
    children = {
        name: CommandNode(
            (*path, name),
            spec.help,
            (*_options(spec.parameters), HELP),
            tuple(_positionals(spec.parameters)),
            {},
            spec.run,
            {parameter.name: parameter.default for parameter in spec.parameters},
        )
        for name, spec in group.commands.items()
    }
    for name, inner_group in group.groups.items():
        below, command = read(inner_group, (*path, name)), children.get(name)
        children[name] = below if command is None else replace(command, children=below.children)
    for name, section in sections.items():
        if name in children:
            children[name] = replace(children[name], section=section)
    options = (*_options(group.shared), *(() if path else COMPLETION), HELP)
    return CommandNode(path, group.help, options, (), children)


def _options(parameters: Iterable[DeclaredParameter]) -> Iterator[Option]:
    for parameter in parameters:
        base, spec = _annotation(parameter)
        if isinstance(spec, OptionSpec):
            is_switch = spec.metavar == SWITCH
            yield Option(
                spec.names,
                _arity(base, spec.metavar),
                spec.help,
                spec.panel,
                parameter.default is REQUIRED,
                ("false", "true") if is_switch else tuple(choices(base)),
                _default(parameter.default),
                _parameter(parameter.name, base, spec),
                "" if is_switch else spec.metavar,
                spec.suggest,
            )


def _positionals(parameters: Iterable[DeclaredParameter]) -> Iterator[Positional]:
    for parameter in parameters:
        base, spec = _annotation(parameter)
        if isinstance(spec, ArgumentSpec):
            required = parameter.default is REQUIRED
            name = spec.metavar or parameter.name.upper()
            yield Positional(name, spec.help, required, _parameter(parameter.name, base, spec))


def _parameter(name: str, base: Any, spec: OptionSpec | ArgumentSpec) -> FlagParameter:
    is_list = get_origin(base) is list
    return FlagParameter(name, get_args(base)[0] if is_list else base, is_list, spec.min, spec.max)


def _annotation(parameter: DeclaredParameter) -> tuple[Any, Any]:
    """Return the type without `None`, and its declaration."""
    base, spec, *_ = (*get_args(parameter.annotation), None, None)
    members = [member for member in get_args(base) if member is not NoneType]
    return (members[0] if NoneType in get_args(base) else base), spec


def _arity(base: Any, metavar: str) -> Arity:
    if base is bool:
        return Arity.NONE
    if metavar == SWITCH:
        return Arity.BOOLEAN
    return Arity.MANY if metavar.endswith(SEVERAL) else Arity.ONE


def choices(of: Any) -> Mapping[str, Any]:
    """Return the values of a `Literal` or an enum by their words; none for other types."""
    if get_origin(of) is Literal:
        return {word: word for word in get_args(of)}
    is_enum = isinstance(of, type) and issubclass(of, Enum)
    return {str(member.value): member for member in of} if is_enum else {}


def _default(value: Any) -> str:
    if value is REQUIRED or value in (None, False, ""):
        return ""
    return str(value.value if isinstance(value, Enum) else value)
