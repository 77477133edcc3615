"""How forecasts and advice are written and refused: the same for every command."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import inf
from time import monotonic
from typing import Annotated, Any, Literal, Protocol, Self, TypeAlias

from mlctl.cli.shell import Exit, Session, flag
from mlctl.render.terminal.terminal import clean
from mlctl.service_errors import Permanent

ForecastFormat: TypeAlias = Literal["human", "json", "csv", "html"]
Output = Annotated[ForecastFormat, flag("--output", "-o")]


class Human(Protocol):
    """Writes a forecast for a terminal."""

    def __call__(self, data: Mapping[str, Any], *, width: int, color: bool) -> str:
        """Return the text."""
        ...


class Progress:
    """A line on a terminal, after a second: how many histories are done."""

    def __init__(self, session: Session) -> None:
        self.shown_at = monotonic() + _QUIET_S if sys.stderr.isatty() and not session.quiet else inf
        self.count = 0
        self.is_shown = False

    def __enter__(self) -> Self:
        return self

    def add(self, count: int) -> None:
        """Count so many more."""
        self.count += count
        if monotonic() >= self.shown_at:
            self.is_shown, self.shown_at = True, monotonic() + _PAUSE_S
            self._write(f"{self.count} histories simulated; Ctrl-C ends with their results")

    def __exit__(self, *_: object) -> None:
        if self.is_shown:
            self._write("")

    def _write(self, words: str) -> None:
        sys.stderr.write(f"\r\x1b[K{words}")
        sys.stderr.flush()


_QUIET_S, _PAUSE_S = 1.0, 0.2


@contextmanager
def refusals() -> Iterator[None]:
    """Convert impossible forecasts to errors of a command."""
    from mlctl.forecast.fields import ForecastError
    from mlctl.simulator.engine.commands import EngineError

    try:
        yield
    except (ForecastError, EngineError) as error:
        raise Permanent("NoForecast", str(error)) from None


def write(
    session: Session,
    data: Mapping[str, Any],
    output: ForecastFormat,
    human: Human,
    page: Callable[[Mapping[str, Any]], str],
) -> None:
    """Write a forecast to stdout; as CSV only its rows."""
    from mlctl.render.forecast import batch as render

    match output:
        case "json":
            session.out_data(render.as_json(data))
        case "csv":
            session.out_data(render.csv(data))
        case "html":
            session.out_data(page(data))
        case "human":
            session.out(human(data, width=session.width, color=session.color(sys.stdout)))


def is_refused(session: Session, *reasons: str) -> bool:
    """Report why a forecast is refused; whether there is a reason."""
    for why in reasons:
        session.say(clean(f"refused: {why}"))
    return bool(reasons)


def ended(session: Session, *, complete: bool) -> Exit:
    """Return the exit code; report it if Ctrl-C ended the forecast."""
    if complete:
        return Exit.OK
    session.say("stopped: the numbers are those of the histories simulated until then")
    return Exit.ERROR
