"""How commands are declared: functions with `Annotated[type, OptionSpec(...)]`, in groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter

from mlctl.dataclasses import dataclass, field

ARGUMENTS = "Arguments"
COMMANDS = "Commands"

Suggest = Sequence[str] | Callable[[], Sequence[str]]


@dataclass(frozen=True, slots=True, init=False)
class OptionSpec:
    """A parameter that is a flag; without names it has that of the parameter.

    A metavar that ends in `...` lets several values follow the flag. `suggest` gives the words that
    completion offers; `min` and `max` are bounds of a number, included.
    """

    names: tuple[str, ...]
    help: str
    metavar: str
    panel: str
    min: float | None
    max: float | None
    suggest: Suggest

    def __init__(
        self,
        *names: str,
        help: str = "",  # noqa: A002
        metavar: str | None = None,
        panel: str = ARGUMENTS,
        min: float | None = None,  # noqa: A002
        max: float | None = None,  # noqa: A002
        suggest: Suggest = (),
    ) -> None:
        values = names, help, metavar or "", panel, min, max, suggest
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentSpec:
    """A parameter that no flag introduces."""

    help: str = ""
    metavar: str = ""
    min: float | None = None
    max: float | None = None


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A command: what runs it with the values of its parameters, and its help."""

    run: Callable[..., int]
    parameters: tuple[Parameter, ...]
    help: str


@dataclass(slots=True)
class CommandGroup:
    """Commands and groups by their names, and the flags that may stand before them."""

    help: str = ""
    shared: tuple[Parameter, ...] = ()
    commands: dict[str, CommandSpec] = field(default_factory=dict)
    groups: dict[str, CommandGroup] = field(default_factory=dict)
