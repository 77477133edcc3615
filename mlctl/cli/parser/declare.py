"""Declare commands: functions with `name: type = flag("-n")`, in groups.

A flag of several commands is a type: `Annotated[type, flag("--name")]`. What flags and positionals
mean is in `help.toml`, unless the declaration has the text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from mlctl.dataclasses import MISSING, Field, dataclass, field

ARGUMENTS = "Arguments"
COMMANDS = "Commands"
_SPEC = "spec"  # of the metadata of a field

REQUIRED = object()  # the default of a parameter that has none

Suggest = Sequence[str] | Callable[[], Sequence[str]]


class DeclaredParameter(NamedTuple):
    """A parameter of a command's function: what it holds, and its flag or positional."""

    name: str
    annotation: Any
    default: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionSpec:
    """A parameter that is a flag.

    A metavar that ends in `...` lets several values follow the flag. `suggest` returns the words
    that completion offers; `min` and `max` are inclusive bounds of a number.
    """

    names: tuple[str, ...]
    help: str = ""
    metavar: str = ""
    panel: str = ARGUMENTS
    min: float | None = None
    max: float | None = None
    suggest: Suggest = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentSpec:
    """A positional parameter."""

    help: str = ""
    metavar: str = ""
    min: float | None = None
    max: float | None = None


def flag(*names: str, default: Any = None, **facts: Any) -> Any:
    """Declare a parameter, or a dataclass's field, as a flag.

    Its long name is that of the parameter unless another is given. The default `...` makes it
    required; `facts` are those of `OptionSpec`.
    """
    return _declaration(lambda parameter: option_spec(parameter, *names, **facts), default)


def option_spec(parameter: str, *names: str, **facts: Any) -> OptionSpec:
    """Return the `flag` declaration of a parameter of this name."""
    has_long = names and names[0].startswith("--")
    long = () if has_long else (f"--{parameter.replace('_', '-')}",)
    return OptionSpec(names=(*long, *names), **facts)


def argument(*, default: Any = ..., **facts: Any) -> Any:
    """Declare a positional parameter; required unless a default is given."""
    return _declaration(lambda _: ArgumentSpec(**facts), default)


def declared(name: str, hint: Any, default: Any) -> DeclaredParameter:
    """A parameter with what `flag` or `argument` said of it, or of its type.

    `default` is that of a function's parameter, or the field of a dataclass.
    """
    metadata: Mapping[Any, Any] = {}
    if isinstance(default, Field):
        metadata = default.metadata
        default = REQUIRED if default.default is MISSING else default.default
    if _SPEC in metadata:
        hint = Annotated[hint, metadata[_SPEC](name)]
    elif hasattr(hint, "__metadata__"):
        hint = Annotated[hint.__origin__, hint.__metadata__[0].metadata[_SPEC](name)]
    return DeclaredParameter(name, hint, default)


def _declaration(spec: Callable[[str], OptionSpec | ArgumentSpec], default: Any) -> Any:
    return field(default=MISSING if default is ... else default, metadata={_SPEC: spec})


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A command: the function that runs it, and its help."""

    run: Callable[..., int]
    parameters: tuple[DeclaredParameter, ...]
    help: str


@dataclass(slots=True)
class CommandGroup:
    """Commands and groups by name, and the flags that may precede them."""

    help: str = ""
    shared: tuple[DeclaredParameter, ...] = ()
    commands: dict[str, CommandSpec] = field(default_factory=dict)
    groups: dict[str, CommandGroup] = field(default_factory=dict)
