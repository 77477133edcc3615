"""What takes nodes away in a rehearsal, by the flags."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mlctl import files
from mlctl.cli.local.flag_text import read_text
from mlctl.cli.parser.arguments import InvalidValue

if TYPE_CHECKING:  # the event engine takes longer to load than most commands
    from mlctl.simulator.engine.processes import PreemptionProcess


def processes(
    rate: float | None, weather: str | None, script: Path | None
) -> tuple[PreemptionProcess, ...]:
    """The processes by which nodes are lost; at most one of the flags says which.

    Raises:
        InvalidValue: several are given, or one cannot be read.
    """
    from mlctl.forecast.weather.models import WeatherError, by_name, names, parse
    from mlctl.simulator.engine.processes import LossScript, Poisson

    if sum(flag is not None for flag in (rate, weather, script)) > 1:
        raise InvalidValue("only one of --preempt, --weather and --script", flag="--weather")
    if rate:
        return (Poisson(rate),)
    if weather is not None:
        try:
            model = by_name(weather)
            if model is None and not files.is_file(Path(weather)):
                known_names = ", ".join(names())
                raise InvalidValue(f"`{weather}` is no weather: {known_names}", flag="--weather")
            model = model or parse(read_text(Path(weather)), weather)
        except WeatherError as error:
            raise InvalidValue(str(error), flag="--weather") from None
        if model.trace is not None:
            raise InvalidValue(f"`{weather}` is a trace; name weather", flag="--weather")
        return model.processes()
    if script is not None:
        losses: list[tuple[float, int | str]] = []
        for line in read_text(script).splitlines():
            words = line.partition("#")[0].split()
            if words:
                losses.append(_loss(words))
        return (LossScript(tuple(losses)),)
    return ()


def _loss(words: list[str]) -> tuple[float, int | str]:
    """A line of a script of losses: when, and the number of a node from 1, or `all`."""
    from mlctl.simulator.engine.processes import ALL

    at, _, node = " ".join(words).partition(" ")
    if not at.replace(".", "", 1).isdecimal() or not (node == ALL or node.isdecimal()):
        text = f"`{' '.join(words)}` is no `SECOND NODE|all`, as `90 1`"
        raise InvalidValue(text, flag="--script")
    return float(at), node if node == ALL else int(node) - 1
