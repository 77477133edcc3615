"""The flags of `mlctl finish`: what is to be done, by when, for how much, and how it is told."""

from __future__ import annotations

import re
from datetime import datetime
from enum import StrEnum
from math import inf
from pathlib import Path
from time import time
from typing import Annotated

from mlctl.backends.ports.backend import SupportsVirtualTime
from mlctl.cli.shell import InvalidValue, Session, UsageError, argument, flag
from mlctl.cli.shell.command import duration
from mlctl.dataclasses import dataclass
from mlctl.finishing.begin import considered
from mlctl.forecast import DEFAULT_WEATHER
from mlctl.forecast.batch.policy import WATCHFUL, RecoveryPolicy, parse
from mlctl.simulator.control_plane.state.clock import EPOCH


class FinishFormat(StrEnum):
    """How it is told what happens."""

    HUMAN = "human"
    JSON = "json"


class ShowFormat(StrEnum):
    """How a job is shown."""

    HUMAN = "human"
    JSON = "json"
    HTML = "html"


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,199}")

FilesToApply = Annotated[
    list[str] | None,
    argument(
        "Files and folders that are applied first, with the batch deployment that takes the job.",
        metavar="PATH...",
    ),
]
Name = Annotated[str, argument("The job that is finished.", metavar="NAME")]
Show = Annotated[ShowFormat, flag("How it is written; html is one page.", "--output", "-o")]
Events = Annotated[FinishFormat, flag("human, or json: an event a line.", "--output", "-o")]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderArgs:
    """What is to be finished, by when, and for how much."""

    endpoint: str | None = flag("Name of the batch endpoint.", "-n", metavar="NAME")
    file: str | None = flag(
        "A command, pipeline or sweep job to bring to its end instead; - for standard input.",
        "-f",
        metavar="FILE",
    )
    checkpoint: str | None = flag(
        "The output of a command job with checkpoints, and its input that the next run finds them"
        " in: of the same name unless given.",
        metavar="OUTPUT[:INPUT]",
    )
    deployment: str | None = flag(
        "The deployment for low priority; the endpoint's default one.", "-d", metavar="NAME"
    )
    input: str | None = flag("What to score: a local folder, or a URI.", metavar="URI")
    name: str | None = flag("What to call it, and its runs; made up.", metavar="NAME")
    deadline: str | None = flag(
        "When it has to be done: 6h from now, or 2026-11-24 06:00 (of this machine, unless a zone"
        " is given).",
        metavar="DURATION|DATE",
    )
    max_cost: float | None = flag(
        "Stop before a step that would cost more in all.", min=0, metavar="USD"
    )
    policy: str | None = flag(
        "What follows a lost run, as in simulate; the cheapest that keeps the deadline.",
        metavar="POLICY",
    )
    shards: str = flag("How many runs share the files, or auto.", default="auto", metavar="N")
    sure: str | None = flag(
        "The deployment on dedicated nodes, or of a command job the cluster; a twin is made and"
        " removed unless given.",
        metavar="NAME",
    )
    give_up_after: int = flag("End after so many equal failures.", default=2, min=1, metavar="N")
    weather: str = flag("The weather of the forecast.", default=DEFAULT_WEATHER, metavar="NAME")


@dataclass(frozen=True, slots=True, kw_only=True)
class TellArgs:
    """Where results go, and how it is told what happens."""

    results: Path | None = flag(
        "Where the results of all runs are put together; NAME-results.", metavar="DIR"
    )
    notify: str | None = flag(
        "A command that gets the summary as JSON on its stdin at the end.", metavar="CMD"
    )
    output: FinishFormat = flag(
        "human, or json: an event a line.", "-o", default=FinishFormat.HUMAN
    )


def policies_of(order_args: OrderArgs, deadline_s: float | None) -> list[RecoveryPolicy]:
    """The policy that is asked for, or those that are compared."""
    try:
        policies = [parse(order_args.policy)] if order_args.policy else considered(deadline_s)
    except ValueError as error:
        raise InvalidValue(str(error), flag="--policy") from None
    if deadline_s is None and policies[0].way in WATCHFUL:
        raise UsageError(f"--policy {policies[0]} needs a --deadline.")
    return policies


def check(order_args: OrderArgs) -> None:
    """Refuse what could only fail later."""
    if order_args.name is not None and not _NAME.fullmatch(order_args.name):
        text = f"`{order_args.name}` is no name: 1 to 200 letters, digits, - and _"
        raise InvalidValue(text, flag="--name")
    if order_args.max_cost == inf:
        raise InvalidValue("a budget has an end: leave it out", flag="--max-cost")
    if order_args.checkpoint is not None and not order_args.checkpoint.partition(":")[0]:
        raise InvalidValue("it names no output", flag="--checkpoint")


def deadline_of(session: Session, text: str) -> float:
    """Seconds from now until a deadline: after a duration, or at a date."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        seconds = duration(text)
        if not seconds:
            raise InvalidValue(f"`{text}` is over at once", flag="--deadline") from None
        return seconds
    with session.backend() as backend:
        now = (
            backend.now() + EPOCH.timestamp()
            if isinstance(backend, SupportsVirtualTime)
            else time()
        )
    seconds = moment.astimezone().timestamp() - now
    if seconds <= 0:
        raise InvalidValue(f"`{text}` has passed", flag="--deadline")
    return seconds
