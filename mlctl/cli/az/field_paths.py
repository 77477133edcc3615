"""The paths of `--set`, `--add` and `--remove`: as in az, with quotes for keys that hold dots."""

from __future__ import annotations

import re
from typing import TypeAlias

from mlctl.cli.shell import UsageError
from mlctl.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ItemFilter:
    """`[key=value]`: the one element of a list whose `key` is `value`."""

    key: str
    value: str


PathStep: TypeAlias = str | int | ItemFilter


_STEP = re.compile(
    r"""\.?(?:"(?P<quoted>[^"]*)"|\[(?P<index>-?\d+)\]|\[["'](?P<key>[^"']*)["']\]"""
    r"""|\[(?P<name>[^\]=]+)=(?P<value>[^\]]*)\]|(?P<bare>[^.\[\]"]+))"""
)
_SET_USAGE = "Correct syntax: --set KEY=VALUE [KEY=VALUE ...]"


def parse_path(text: str) -> list[PathStep]:
    """The steps of `a.b`, `a."b.c"`, `a["b.c"]`, `a[0]`, `a[key=value].b`.

    Raises:
        UsageError: it is no path.
    """
    steps: list[PathStep] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            raise UsageError(
                f'usage error: `{text}` is no path: write a.b, a."b.c", a[0] or a[key=value]'
            )
        at = match.end()
        steps.append(_step(match))
    return steps


def _step(match: re.Match[str]) -> PathStep:
    if match["index"] is not None:
        return int(match["index"])
    if match["name"] is not None:
        return ItemFilter(match["name"], match["value"])
    return next(match[name] for name in ("quoted", "key", "bare") if match[name] is not None)


def split_assignment(expression: str) -> tuple[str, str]:
    """Key and value of `key=value`, at the first `=` outside of brackets and quotes.

    Raises:
        UsageError: there is no such `=`, or nothing before it.
    """
    quoted = depth = False
    for place, letter in enumerate(expression):
        if letter == '"':
            quoted = not quoted
        elif letter in "[]" and not quoted:
            depth = letter == "["
        elif letter == "=" and not (quoted or depth):
            if not expression[:place].strip():
                raise UsageError(f"usage error: Empty key in --set. {_SET_USAGE}")
            return expression[:place], expression[place + 1 :]
    raise UsageError(f"usage error: `{expression}` has no value. {_SET_USAGE}")
