"""The flags of `mlctl finish`: the job, its deadline, its budget, its output."""

from __future__ import annotations

import re
from datetime import datetime
from math import inf
from pathlib import Path
from time import time
from typing import Annotated, Literal, TypeAlias

from mlctl.backends.ports.backend import SupportsVirtualTime
from mlctl.cli.shell import InvalidValue, Session, UsageError, argument, flag
from mlctl.cli.shell.command import duration
from mlctl.dataclasses import dataclass
from mlctl.finishing.begin import default_policies
from mlctl.forecast import DEFAULT_WEATHER
from mlctl.forecast.batch.policy import WATCHFUL, RecoveryPolicy, parse
from mlctl.simulator.control_plane.state.clock import EPOCH

FinishFormat: TypeAlias = Literal["human", "json"]
ShowFormat: TypeAlias = Literal["human", "json", "html"]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,199}")

FilesToApply = Annotated[list[str] | None, argument(metavar="PATH...")]
Name = Annotated[str, argument(metavar="NAME")]
Show = Annotated[ShowFormat, flag("--output", "-o")]
Events = Annotated[FinishFormat, flag("--output", "-o")]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderArgs:
    """The job, its deadline and its budget."""

    endpoint: str | None = flag("-n", metavar="NAME")
    file: str | None = flag("-f", metavar="FILE")
    checkpoint: str | None = flag(metavar="OUTPUT[:INPUT]")
    deployment: str | None = flag("-d", metavar="NAME")
    input: str | None = flag(metavar="URI")
    name: str | None = flag(metavar="NAME")
    deadline: str | None = flag(metavar="DURATION|DATE")
    max_cost: float | None = flag(min=0, metavar="USD")
    policy: str | None = flag(metavar="POLICY")
    shards: str = flag(default="auto", metavar="N")
    sure: str | None = flag(metavar="NAME")
    give_up_after: int = flag(default=2, min=1, metavar="N")
    weather: str = flag(default=DEFAULT_WEATHER, metavar="NAME")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportArgs:
    """Where results go, and how events are printed."""

    results: Path | None = flag(metavar="DIR")
    notify: str | None = flag(metavar="CMD")
    output: FinishFormat = flag("-o", default="human")


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
