"""A line that was read to the values of a command's parameters, by their types."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from mlctl.cli.parser.arguments import Flagged, Line
from mlctl.cli.parser.tree import Slot, Takes


def bind(line: Line) -> dict[str, Any]:
    """Every parameter of the line's command with its value: as typed, or its default.

    Of a flag that several values follow, a parameter gets the flags themselves.

    Raises:
        UsageError: a value is none of its parameter's type.
    """
    return {**line.node.defaults, **dict(_flags(line)), **dict(_positionals(line))}


def _flags(line: Line) -> Iterator[tuple[str, Any]]:
    by_name: dict[str, list[Flagged]] = {}
    for flag in line.flags:
        by_name.setdefault(flag.option.slot.name, []).append(flag)
    for name, flags in by_name.items():
        slot = flags[0].option.slot
        match flags[0].option.takes:
            case Takes.NOTHING:
                yield name, True
            case Takes.MANY:
                yield name, flags
            case Takes.ONE | Takes.TRUTH:
                values = [_value(line, slot, flag.words[0], flag.option.spelt) for flag in flags]
                yield name, values if slot.several else values[-1]


def _positionals(line: Line) -> Iterator[tuple[str, Any]]:
    given = list(line.positionals)
    for one in line.node.positionals:
        taken, given = (given, []) if one.slot.several else (given[:1], given[1:])
        values = [_value(line, one.slot, word, one.name) for word in taken]
        if values:
            yield one.slot.name, values if one.slot.several else values[0]


def _value(line: Line, slot: Slot, word: str, name: str) -> Any:
    kind = slot.kind
    if kind is str or kind is Path:
        return kind(word)
    if issubclass(kind, Enum):
        found = next((one for one in kind if str(one.value).casefold() == word.casefold()), None)
        if found is None:
            allowed = ", ".join(str(one.value) for one in kind)
            raise line.error(
                f"'{word}' is not a valid value for '{name}'. Allowed values: {allowed}."
            )
        return found
    return _number(line, slot, word, name)


def _number(line: Line, slot: Slot, word: str, name: str) -> Any:
    try:
        number = slot.kind(word)
    except ValueError:
        wanted = "a whole number" if slot.kind is int else "a number"
        raise line.error(
            f"'{word}' is not a valid value for '{name}'. It takes {wanted}."
        ) from None
    if (slot.least is not None and number < slot.least) or (
        slot.most is not None and number > slot.most
    ):
        bounds = [
            f"at least {slot.least}" if slot.least is not None else "",
            f"at most {slot.most}" if slot.most is not None else "",
        ]
        told = " and ".join(one for one in bounds if one)
        raise line.error(f"'{word}' is not a valid value for '{name}'. It takes {told}.")
    return number
