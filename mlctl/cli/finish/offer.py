"""The request that `mlctl finish` gets, and the offer that it makes."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any

from mlctl.backends.ports.backend import Backend
from mlctl.cli.az import invoke as batch_job
from mlctl.cli.finish.options import OrderArgs
from mlctl.cli.forecast.args import FileArgs
from mlctl.cli.local.flags import BatchFlags, TrainingFlags
from mlctl.dataclasses import dataclass
from mlctl.finishing.begin import Option, build_order
from mlctl.finishing.order import Order
from mlctl.simulator.engine.model import SimulationSettings
from mlctl.workload import Workload


@dataclass(frozen=True, slots=True)
class Offer:
    """An order, the compared options as data, best first, and a preparation.

    `prepare` creates in the workspace what the first run needs.
    """

    order: Order
    compared: list[dict[str, Any]]
    prepare: Callable[[Backend], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Request:
    """The flags as one record; the deadline is in seconds from now."""

    order: OrderArgs
    batch: BatchFlags
    training: TrainingFlags
    prices: FileArgs
    settings: SimulationSettings
    deadline_s: float | None

    def offer(
        self, options: Sequence[Option], workload: Workload, title: str, cluster: str, **facts: Any
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
