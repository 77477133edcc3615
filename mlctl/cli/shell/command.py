"""Turn functions into commands with the global flags."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FunctionType
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar, cast, get_type_hints

from mlctl import durations
from mlctl.cli.parser.arguments import InvalidValue, TypedFlag
from mlctl.cli.parser.declare import (
    REQUIRED,
    CommandGroup,
    CommandSpec,
    DeclaredParameter,
    declared,
    option_spec,
)
from mlctl.cli.parser.tree import SEVERAL
from mlctl.cli.shell.exits import Exit
from mlctl.cli.shell.global_args import GlobalArgs
from mlctl.cli.shell.scope import paths_of
from mlctl.cli.shell.session import Session
from mlctl.dataclasses import fields, is_dataclass

Body = Callable[..., Exit | None]
Commands: TypeAlias = Mapping[str, "Body | Group"]
_T = TypeVar("_T")
_OF_NO_PROJECT = frozenset({"init", "fmt", "test"})  # what they name belongs to none, or to several


class Group(NamedTuple):
    """Commands with their common help; `body` is the group's own function."""

    help: str
    commands: Commands
    body: Body | None = None


def register(group: CommandGroup, commands: Commands) -> None:
    """Add commands, functions `(session, ...) -> Exit`, to a group by name.

    A parameter of such a function that is a dataclass stands for its fields.
    """
    for name, command in commands.items():
        body = command.body if isinstance(command, Group) else command
        if isinstance(command, Group):
            group.groups[name] = CommandGroup(help=command.help)
            register(group.groups[name], command.commands)
        if body is not None:
            _register(group, name, body)


def _register(group: CommandGroup, name: str, body: Body) -> None:
    hints = get_type_hints(body, include_extras=True)
    own_hints = {name: hint for name, hint in hints.items() if name not in ("session", "return")}

    def run(session: Session, **values: Any) -> Exit | None:
        own_values = {name: _value(hint, name, values) for name, hint in own_hints.items()}
        return body(session, **own_values)

    declared = [parameter for parameter in parameters(body) if parameter.name != "session"]
    of_project = name not in _OF_NO_PROJECT
    add(group, name, run, declared, body.__doc__ or "", of_project=of_project)


def add(
    group: CommandGroup,
    name: str,
    body: Body,
    own: Iterable[DeclaredParameter],
    text: str,
    *,
    of_project: bool = True,
) -> None:
    """Register `body` as a command with the parameters `own` and the global flags."""

    def run(**values: Any) -> Exit:
        global_args = fill(GlobalArgs, values)
        own_values = {name: value for name, value in values.items() if name not in _GLOBAL_NAMES}
        session = Session(global_args, paths=paths_of(own_values) if of_project else ())
        try:
            return body(session, **own_values) or Exit.OK
        except Exception as error:
            if type(error).__module__.partition(".")[0] != "mlctl":
                session.check_state()  # an unexpected error may come from a damaged state
            raise

    group.commands[name] = CommandSpec(run, (*own, *GLOBAL_FLAGS), text)


def option(
    name: str,
    *names: str,
    type_: Any = str | None,
    default: Any = None,
    metavar: str = "",
    **facts: Any,
) -> DeclaredParameter:
    """Build a parameter that is a flag, as `flag` declares it.

    With a metavar that ends in SEVERAL, the parameter is a `list[TypedFlag]`.
    """
    if metavar.endswith(SEVERAL):
        type_ = list[TypedFlag] | None
    annotation = Annotated[type_, option_spec(name, *names, metavar=metavar, **facts)]
    return DeclaredParameter(name, annotation, REQUIRED if default is ... else default)


def switch(name: str, *names: str, **facts: Any) -> DeclaredParameter:
    """Build a parameter that is true if its flag is given."""
    return option(name, *names, type_=bool, default=False, **facts)


def fill(of: type[_T], values: Mapping[str, Any]) -> _T:
    """Build an object of the dataclass `of` from the values of its fields; others are ignored."""
    assert is_dataclass(of)
    return of(
        **{option.name: values[option.name] for option in fields(of) if option.name in values}
    )


def flag_values(occurrences: Iterable[TypedFlag]) -> list[str]:
    """Return the values of all occurrences of a flag with several; empty ones are dropped."""
    return [value for occurrence in occurrences for value in occurrence.values if value]


def parameters(of: Callable[..., Any]) -> Iterator[DeclaredParameter]:
    """Return the parameters of a function; for a dataclass, those of its fields."""
    hints = get_type_hints(of, include_extras=True)
    defaults: Mapping[str, Any] = (
        {field.name: field for field in fields(of)}
        if is_dataclass(of)
        else _defaults(cast("FunctionType", of))
    )
    for name, default in defaults.items():
        if is_dataclass(hints[name]) and isinstance(hints[name], type) and name != "session":
            yield from parameters(hints[name])
        else:
            yield declared(name, hints[name], default)


def _defaults(of: FunctionType) -> Mapping[str, Any]:
    """Return the default of each parameter of a function, without the import of `inspect`."""
    code, optional = of.__code__, of.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    positional = code.co_varnames[code.co_argcount - len(optional) : code.co_argcount]
    defaults = {**dict(zip(positional, optional, strict=True)), **(of.__kwdefaults__ or {})}
    return {name: defaults.get(name, REQUIRED) for name in names}


def _value(hint: Any, name: str, values: Mapping[str, Any]) -> Any:
    is_group = isinstance(hint, type) and is_dataclass(hint)
    return fill(hint, values) if is_group else values[name]


# They may also precede the command: `mlctl --backend azure plan`.
GLOBAL_FLAGS = tuple(parameters(GlobalArgs))
_GLOBAL_NAMES = frozenset(option.name for option in GLOBAL_FLAGS)


def duration(text: str) -> float:
    """Parse `90`, `90s`, `1h30m`, `30d` or an ISO 8601 duration into seconds."""
    try:
        return durations.parse(text)
    except ValueError:
        raise InvalidValue(
            f"`{text}` is not a duration; write 90s, 15m, 1h30m, 30d or PT90S"
        ) from None
