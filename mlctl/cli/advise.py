"""`mlctl advise`: which settings finish a batch job most cheaply, and what to change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlctl.cli.durations import duration
from mlctl.cli.exits import Exit
from mlctl.cli.forecast_args import (
    WEATHER,
    CloudArgs,
    SubjectArgs,
    executor_of,
    settings_of,
    weather_of,
)
from mlctl.cli.forecast_output import ForecastFormat, Output, ended, refusals, write
from mlctl.cli.forecast_subject import read_subject
from mlctl.cli.local.settings import DelayArgs
from mlctl.cli.local.workload_flags import BatchFlags
from mlctl.cli.parser.arguments import InvalidValue
from mlctl.cli.parser.command import command
from mlctl.cli.rule_choice import Ignore
from mlctl.cli.session import Session
from mlctl.cli.validate import SomePaths
from mlctl.service_errors import Permanent

if TYPE_CHECKING:
    from mlctl.forecast.reading import Subject
    from mlctl.pointer import Data

_MOST_VALUES = 64  # of a field
_MOST_CONFIGURATIONS = 2000
_USUAL = ("max_instances=1..32", "tier=low_priority,dedicated")


def register(app: typer.Typer, verb: str) -> None:
    """Add the command."""
    command(app, verb)(advise)


def advise(
    session: Session,
    paths: SomePaths = None,
    *,
    subject: SubjectArgs,
    work: BatchFlags,
    delays: DelayArgs,
    cloud: CloudArgs,
    weather: Annotated[
        str,
        typer.Option(
            "--weather",
            metavar="NAME",
            help="What takes nodes away: stress, band:5-10 or a FILE.",
        ),
    ] = WEATHER,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="FIELD=VALUES",
            help="What to try: max_instances=1..32 (doubling), mini_batch_size=10,20,50, tier,"
            " policy, concurrency, instance_count (repeatable).",
        ),
    ] = None,
    deadline: Annotated[
        str | None,
        typer.Option("--deadline", metavar="DURATION", help="Late in one case of 20 at most."),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option("--budget", min=0, metavar="USD", help="What it may cost until it is done."),
    ] = None,
    max_cancel: Annotated[
        float | None,
        typer.Option(
            "--max-cancel", min=0, max=1, metavar="P", help="How likely the first run may fail so."
        ),
    ] = None,
    runs: Annotated[
        int,
        typer.Option(
            "--runs", min=10, max=100_000, metavar="N", help="Histories of the best ones."
        ),
    ] = 1000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Where all chance is from.")] = 0,
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=256, metavar="N", help="Processes at work.")
    ] = 1,
    patch: Annotated[
        bool,
        typer.Option("--patch", help="Write the recommended values into the files."),
    ] = False,
    ignore: Ignore = None,
    output: Output = ForecastFormat.HUMAN,
) -> Exit:
    """Find the settings that finish a batch job most cheaply, and say what to change.

    Ranked is what it costs until the job is done, with the runs that follow a cancelled one. All
    configurations have the same luck, so that differences are known better than the numbers.
    """
    from mlctl.forecast import advice, search
    from mlctl.forecast.policy import Policy
    from mlctl.render import forecast_advice as render

    with refusals():
        read = read_subject(session, paths or (), subject, work, settings_of(delays, cloud), ignore)
        if read is None:
            return Exit.ERROR
        wishes = search.Wishes(
            duration(deadline) if deadline is not None else None, budget, max_cancel
        )
        there = weather_of(weather)
        wanted = _vary(vary or _USUAL)
        found = list(
            search.candidates(read.scenario, there.processes(), wanted, Policy(), str(seed))
        )
        if len(found) > _MOST_CONFIGURATIONS:
            raise InvalidValue(
                f"{len(found)} configurations are too many: {_MOST_CONFIGURATIONS} at most",
                flag="--vary",
            )
        with executor_of(workers) as executor:
            ranked, complete = search.halve(found, wishes, executor, runs)
    data = advice.document(read, there.name, found, ranked, wishes)
    write(session, data, output, render.human, _page)
    if patch and complete and data["recommended"] is not None:
        _write(session, read, data["rows"][data["recommended"]]["settings"])
    return ended(session, complete=complete)


def _page(data: Mapping[str, Any]) -> str:
    from mlctl.render import forecast_page

    return forecast_page.advice(data)


def _write(session: Session, read: Subject, settings: Mapping[str, Data]) -> None:
    from mlctl import files
    from mlctl.forecast.patch import patched

    changed, left = patched(read, settings)
    for file, text in changed.items():
        try:
            files.write(file, text.encode())
        except OSError as error:
            raise Permanent("CannotWrite", f"cannot write `{file}`: {error.strerror}") from None
        session.note(f"wrote {file}; see `mlctl plan`")
    for name in left:
        session.note(f"{name} is in no file: change it in the workspace, or in the job")


def _vary(texts: Sequence[str]) -> dict[str, list[Data]]:
    """What `--vary` tries, by field."""
    from mlctl.forecast.search import FIELDS

    wanted: dict[str, list[Data]] = {}
    for text in texts:
        name, _, values = text.partition("=")
        if name not in FIELDS:
            raise InvalidValue(f"`{name}` is none of {', '.join(FIELDS)}", flag="--vary")
        wanted[name] = _values(text, name, values)
    return wanted


def _values(text: str, name: str, values: str) -> list[Data]:
    from mlctl.forecast.policy import parse
    from mlctl.simulator.engine.model import Tier

    if name == "tier":
        known = [tier.value for tier in Tier]
        chosen = values.split(",") if values else known
        if not set(chosen) <= set(known):
            raise InvalidValue(f"`{text}`: a tier is one of {', '.join(known)}", flag="--vary")
        return list(chosen)
    if name == "policy":
        chosen = values.split(",") if values else ["resubmit", "fallback:2", "dedicated"]
        try:
            return [str(parse(one)) for one in chosen]
        except ValueError as error:
            raise InvalidValue(str(error), flag="--vary") from None
    try:
        low, dots, high = values.partition("..")
        numbers = (
            _doubling(int(low), int(high)) if dots else [int(one) for one in values.split(",")]
        )
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1 or len(numbers) > _MOST_VALUES:
        shape = f"write {name}=1..32 or {name}=1,2,4, whole numbers from 1 on"
        raise InvalidValue(f"`{text}`: {shape}", flag="--vary")
    return list(numbers)


def _doubling(low: int, high: int) -> list[int]:
    """From `low` to `high`, both included, each twice the one before; nothing from 0 on."""
    found: list[int] = []
    if low < 1:
        return found
    while low < high:
        found.append(low)
        low *= 2
    return [*found, high]
