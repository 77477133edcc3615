"""What `mlctl finish` is asked for, and what it offers to do."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any

from mlctl.backends.ports.backend import Backend
from mlctl.cli.az import invoke as batch_job
from mlctl.cli.finish.options import OrderArgs
from mlctl.cli.forecast.args import FileArgs
from mlctl.cli.local.workload_flags import BatchFlags, TrainingFlags
from mlctl.dataclasses import dataclass
from mlctl.finishing.begin import Option, order_of
from mlctl.finishing.order import Order
from mlctl.simulator.engine.model import SimulationSettings
from mlctl.workload import Workload


@dataclass(frozen=True, slots=True)
class Offer:
    """An order, the options that were compared as data, the best first, and what comes before it.

    `prepare` puts into the workspace what the first run needs.
    """

    order: Order
    compared: list[dict[str, Any]]
    prepare: Callable[[Backend], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Request:
    """What flags ask for; the deadline in seconds from now."""

    order: OrderArgs
    batch: BatchFlags
    training: TrainingFlags
    prices: FileArgs
    settings: SimulationSettings
    deadline_s: float | None

    def offer(
        self, options: Sequence[Option], workload: Workload, title: str, cluster: str, **facts: Any
    ) -> Offer:
        """The best of the options; `cluster` is what has a twin: a deployment, or a cluster."""
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
        order = order_of(options[0], self.deadline_s, workload, **facts)
        return Offer(order, [option.document() for option in options])


def inputs_of(text: str | None) -> Any:
    """ARM's inputs of a job of an endpoint that gets what `--input` says."""
    no_flags = dict.fromkeys(batch_job.BatchJobArgs.__dataclass_fields__)
    args = batch_job.BatchJobArgs(**{**no_flags, "input": text})  # type: ignore[arg-type]
    return batch_job.body(batch_job.document(args))["inputData"]
