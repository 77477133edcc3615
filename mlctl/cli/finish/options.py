"""The flags of `mlctl finish`: the job, its deadline, its budget, its output."""

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
from mlctl.finishing.begin import default_policies
from mlctl.forecast import DEFAULT_WEATHER
from mlctl.forecast.batch.policy import WATCHFUL, RecoveryPolicy, parse
from mlctl.simulator.control_plane.state.clock import EPOCH


class FinishFormat(StrEnum):
    """How events are printed."""

    HUMAN = "human"
    JSON = "json"


class ShowFormat(StrEnum):
    """How a job is printed."""

    HUMAN = "human"
    JSON = "json"
    HTML = "html"


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,199}")

FilesToApply = Annotated[
    list[str] | None,
    argument(
        "Files and folders to apply first, including the batch deployment that runs the job.",
        metavar="PATH...",
    ),
]
Name = Annotated[str, argument("The name given to `mlctl finish`.", metavar="NAME")]
Show = Annotated[ShowFormat, flag("Output format; html writes a single page.", "--output", "-o")]
Events = Annotated[FinishFormat, flag("human, or json with one event per line.", "--output", "-o")]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderArgs:
    """The job, its deadline and its budget."""

    endpoint: str | None = flag("Name of the batch endpoint.", "-n", metavar="NAME")
    file: str | None = flag(
        "A command, pipeline or sweep job to finish instead; - for standard input.",
        "-f",
        metavar="FILE",
    )
    checkpoint: str | None = flag(
        "The output in which a command job writes checkpoints, and the input from which the "
        "next run reads them; the same name by default.",
        metavar="OUTPUT[:INPUT]",
    )
    deployment: str | None = flag(
        "The low-priority deployment; the endpoint's default if omitted.", "-d", metavar="NAME"
    )
    input: str | None = flag("What to score: a local folder, or a URI.", metavar="URI")
    name: str | None = flag(
        "A name for the work and its runs; generated if omitted.", metavar="NAME"
    )
    deadline: str | None = flag(
        "The deadline: 6h from now, or 2026-11-24 06:00 (local time unless a time zone is given).",
        metavar="DURATION|DATE",
    )
    max_cost: float | None = flag(
        "The budget; stop before a step that would exceed it.", min=0, metavar="USD"
    )
    policy: str | None = flag(
        "What to do after a lost run, as in simulate; by default the cheapest policy that "
        "meets the deadline.",
        metavar="POLICY",
    )
    shards: str = flag(
        "How many runs to split the files into, or auto.", default="auto", metavar="N"
    )
    sure: str | None = flag(
        "The deployment on dedicated nodes (for a command job, the cluster); if omitted, one "
        "is created and removed.",
        metavar="NAME",
    )
    give_up_after: int = flag(
        "Stop after this many identical failures.", default=2, min=1, metavar="N"
    )
    weather: str = flag(
        "The preemption pattern for the forecast.", default=DEFAULT_WEATHER, metavar="NAME"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportArgs:
    """Where results go, and how events are printed."""

    results: Path | None = flag(
        "The folder for the merged results; NAME-results by default.", metavar="DIR"
    )
    notify: str | None = flag(
        "A command to run at the end; it receives the summary as JSON on stdin.", metavar="CMD"
    )
    output: FinishFormat = flag(
        "human, or json with one event per line.", "-o", default=FinishFormat.HUMAN
    )


def select_policies(order_args: OrderArgs, deadline_s: float | None) -> list[RecoveryPolicy]:
    """Return the policy that is named, or those to compare."""
    try:
        policies = [parse(order_args.policy)] if order_args.policy else default_policies(deadline_s)
    except ValueError as error:
        raise InvalidValue(str(error), flag="--policy") from None
    if deadline_s is None and policies[0].way in WATCHFUL:
        raise UsageError(f"--policy {policies[0]} needs a --deadline.")
    return policies


def check_args(order_args: OrderArgs) -> None:
    """Refuse values that would fail later."""
    if order_args.name is not None and not _NAME.fullmatch(order_args.name):
        text = f"`{order_args.name}` is not a valid name: use 1 to 200 letters, digits, - and _"
        raise InvalidValue(text, flag="--name")
    if order_args.max_cost == inf:
        raise InvalidValue(
            "a budget must be finite: give an amount, or leave the flag out", flag="--max-cost"
        )
    if order_args.checkpoint is not None and not order_args.checkpoint.partition(":")[0]:
        raise InvalidValue("name an output before the colon", flag="--checkpoint")


def parse_deadline(session: Session, text: str) -> float:
    """Parse a duration, or a date, into seconds from now."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        seconds = duration(text)
        if not seconds:
            raise InvalidValue(
                f"`{text}` ends at once: give a longer duration", flag="--deadline"
            ) from None
        return seconds
    with session.backend() as backend:
        now = (
            backend.now() + EPOCH.timestamp()
            if isinstance(backend, SupportsVirtualTime)
            else time()
        )
    seconds = moment.astimezone().timestamp() - now
    if seconds <= 0:
        raise InvalidValue(f"`{text}` is in the past", flag="--deadline")
    return seconds
