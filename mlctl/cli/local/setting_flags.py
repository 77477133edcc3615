"""The flags that say how the simulated cloud behaves, of its commands and of forecasts."""

from __future__ import annotations

from functools import partial

from mlctl.cli.shell import UsageError, flag
from mlctl.dataclasses import dataclass

_delay = partial(flag, metavar="S")


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayArgs:
    """How long nodes take."""

    allocation: str | None = _delay("From asking for a node to having it.")
    preparation: str | None = _delay("From having a node until it can work.")
    replacement: str | None = _delay("What allocation is for a node that was preempted.")
    leave: str | None = _delay("From giving a node back to its being gone.")


def pair(text: str) -> tuple[str, str]:
    """The name and the value of `NAME=VALUE`.

    Raises:
        UsageError: the text is none.
    """
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise UsageError(f"`{text}`: write NAME=VALUE, as cancel_grace_s=60.")
    return name, value
