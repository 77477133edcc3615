"""What `mlctl finish` offers to do: an order, and the forecasts that it was chosen by."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mlctl.backends.ports.backend import Backend
from mlctl.cli.az import invoke as batch_job
from mlctl.dataclasses import dataclass

if TYPE_CHECKING:
    from mlctl.finishing.order import Order


def nothing(_: Backend) -> None:
    """Nothing has to be in the workspace before the first run."""


@dataclass(frozen=True, slots=True)
class Offer:
    """An order, the options that were compared as data, the best first, and what comes before it.

    `prepare` puts into the workspace what the first run needs.
    """

    order: Order
    compared: list[dict[str, Any]]
    prepare: Callable[[Backend], None] = nothing


def inputs_of(text: str | None) -> Any:
    """ARM's inputs of a job of an endpoint that gets what `--input` says."""
    no_flags = dict.fromkeys(batch_job.BatchJobArgs.__dataclass_fields__)
    args = batch_job.BatchJobArgs(**{**no_flags, "input": text})  # type: ignore[arg-type]
    return batch_job.body(batch_job.document(args))["inputData"]
