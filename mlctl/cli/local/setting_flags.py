"""The flags that say how the simulated cloud behaves, of its commands and of forecasts."""

from __future__ import annotations

from typing import Annotated, Any

from mlctl.cli.parser.arguments import UsageError
from mlctl.cli.parser.declare import OptionSpec
from mlctl.dataclasses import dataclass


def _delay(name: str, help: str) -> Any:  # noqa: A002
    return OptionSpec(name, metavar="S", help=help)


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayArgs:
    """How long nodes take."""

    allocation: Annotated[
        str | None, _delay("--allocation", "From asking for a node to having it.")
    ] = None
    preparation: Annotated[
        str | None, _delay("--preparation", "From having a node until it can work.")
    ] = None
    replacement: Annotated[
        str | None,
        _delay("--replacement", "What allocation is for a node that was preempted."),
    ] = None
    leave: Annotated[
        str | None, _delay("--leave", "From giving a node back to its being gone.")
    ] = None


def pair(text: str) -> tuple[str, str]:
    """The name and the value of `NAME=VALUE`.

    Raises:
        UsageError: the text is none.
    """
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise UsageError(f"`{text}`: write NAME=VALUE, as cancel_grace_s=60.")
    return name, value
