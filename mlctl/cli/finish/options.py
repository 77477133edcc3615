"""The flags of `mlctl finish`, and the offer that is shown before it begins."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Sequence
from datetime import datetime
from math import inf
from pathlib import Path
from time import time
from typing import Annotated, Any, Literal, TypeAlias

from mlctl.backends.ports.backend import Backend, SupportsVirtualTime
from mlctl.cli.az import invoke as batch_job
from mlctl.cli.forecast.args import FileArgs
from mlctl.cli.local.flags import BatchFlags, TrainingFlags
from mlctl.cli.shell import InvalidValue, Session, UsageError, argument, flag
from mlctl.cli.shell.command import duration
from mlctl.dataclasses import dataclass
from mlctl.finishing.begin import PolicyForecast, build_order, default_policies
from mlctl.finishing.order import Order
from mlctl.forecast import DEFAULT_WEATHER
from mlctl.forecast.batch.policy import WATCHFUL, RecoveryPolicy, parse
from mlctl.simulator.control_plane.state.clock import EPOCH
from mlctl.simulator.engine.model import SimulationSettings
from mlctl.workload import Workload

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


@dataclass(frozen=True, slots=True)
class Offer:
    """An order, the compared options as data, best first, and a preparation.

    `prepare` creates in the workspace what the first run needs.
    """

    order: Order
    compared: list[dict[str, Any]]
    prepare: Callable[[Backend], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class FinishFlags:
    """The flags as one record; the deadline is in seconds from now."""

    order: OrderArgs
    batch: BatchFlags
    training: TrainingFlags
    prices: FileArgs
    settings: SimulationSettings
    deadline_s: float | None

    def offer(
        self,
        options: Sequence[PolicyForecast],
        workload: Workload,
        title: str,
        cluster: str,
        **facts: Any,
    ) -> Offer:
        """Build the offer of the best option; `cluster` (or deployment) gets a twin."""
        args = self.order
        facts = {
            "name": args.name or f"{title}-{secrets.token_hex(3)}",
            "deployment": cluster,
            "dedicated": args.sure or (f"{cluster}-dedicated" if cluster else ""),
            "makes_twin": args.sure is None and bool(cluster),
            "max_cost": args.max_cost,
            "give_up_after": args.give_up_after,
            "weather": args.weather,
            "files": (),
            **facts,
        }
        order = build_order(options[0], self.deadline_s, workload, **facts)
        return Offer(order, [option.document() for option in options])


def build_inputs(text: str | None) -> Any:
    """Build ARM's inputs of a batch endpoint's job from `--input`."""
    no_flags = dict.fromkeys(batch_job.BatchJobArgs.__dataclass_fields__)
    args = batch_job.BatchJobArgs(**{**no_flags, "input": text})  # type: ignore[arg-type]
    return batch_job.body(batch_job.document(args))["inputData"]
