"""From a command line that was read to the values of its command's parameters."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

from mlctl.cli.parser.arguments import CommandLine, TypedFlag, usage_error
from mlctl.cli.parser.tree import Arity, FlagParameter


def bind(line: CommandLine) -> dict[str, Any]:
    """Every parameter of the line's command with its value: the one given, else its default.

    A parameter whose flag takes several values gets the occurrences of the flag.

    Raises:
        UsageError: a value does not have its parameter's type.
    """
    return {**line.command.defaults, **dict(_flags(line)), **dict(_positionals(line))}


def _flags(line: CommandLine) -> Iterator[tuple[str, Any]]:
    occurrences: dict[str, list[TypedFlag]] = {}
    for flag in line.flags:
        occurrences.setdefault(flag.option.parameter.name, []).append(flag)
    for name, flags in occurrences.items():
        option = flags[0].option
        match option.arity:
            case Arity.NONE:
                yield name, True
            case Arity.MANY:
                yield name, flags
            case Arity.ONE | Arity.BOOLEAN:
                values = [
                    _value(line, option.parameter, flag.values[0], flag.option.all_names)
                    for flag in flags
                ]
                yield name, values if option.parameter.is_list else values[-1]


def _positionals(line: CommandLine) -> Iterator[tuple[str, Any]]:
    remaining = list(line.positionals)
    for positional in line.command.positionals:
        own_values, remaining = (
            (remaining, []) if positional.parameter.is_list else (remaining[:1], remaining[1:])
        )
        values = [_value(line, positional.parameter, text, positional.name) for text in own_values]
        if values:
            yield positional.parameter.name, values if positional.parameter.is_list else values[0]


def _value(line: CommandLine, parameter: FlagParameter, text: str, name: str) -> Any:
    """`text` as the parameter's type: text, a path, an enum in any letter case, a number."""
    if issubclass(parameter.type, Enum):
        for member in parameter.type:
            if str(member.value).casefold() == text.casefold():
                return member
        expected = f"Allowed values: {', '.join(str(member.value) for member in parameter.type)}."
    else:
        try:
            value = parameter.type(text)
        except ValueError:
            number_kind = "a whole number" if parameter.type is int else "a number"
            expected = f"It takes {number_kind}."
        else:
            if parameter.allows(value):
                return value
            expected = f"It takes {parameter.bounds}."
    message = f"'{text}' is not a valid value for '{name}'. {expected}"
    raise usage_error(message, line.command)
