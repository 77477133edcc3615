"""The flags that describe a job's work: how much, and how long it takes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mlctl.cli.local.flag_text import parse_file
from mlctl.cli.parser.tree import SIMULATED
from mlctl.cli.shell import UsageError, flag
from mlctl.dataclasses import asdict, dataclass
from mlctl.workload import DEFAULT_NAME, Workload

if TYPE_CHECKING:
    from mlctl.backends.ports.jobs import Jobs


_flag = partial(flag, panel=SIMULATED)


WorkloadName = Annotated[
    str,
    flag(
        "What `mlctl local workload set NAME` said of the work.",
        "--workload",
        metavar="NAME",
        panel=SIMULATED,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFlags:
    """The work of a batch job: its mini-batches."""

    files: int | None = _flag("Files in the input.", metavar="N")
    seconds_per_file: float | None = _flag("Time of each file of a mini-batch.", metavar="S")
    seconds_per_mini_batch: float | None = _flag(
        "Time of each mini-batch, besides that of its files.", metavar="S"
    )
    seconds_per_start: float | None = _flag(
        "Time until a node that comes to the job can work: image, init().", metavar="S"
    )
    cv: float | None = _flag(
        "Spread of these times: the coefficient of variation of a log-normal factor.", metavar="X"
    )
    fail_probability: float | None = _flag(
        "How likely an attempt at a mini-batch is to fail.", metavar="P"
    )
    trace: Path | None = _flag(
        "Times of mini-batches, one after the other, instead: JSON, [seconds, ...].", metavar="FILE"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingFlags:
    """The work of a training job: its steps."""

    steps: int | None = _flag("Steps to train.", metavar="N")
    seconds_per_step: float | None = _flag("Time of a step.", metavar="S")
    checkpoint_every: int | None = _flag("Steps between checkpoints; 0 for none.", metavar="N")
    seconds_per_checkpoint: float | None = _flag("Time to write a checkpoint.", metavar="S")
    seconds_to_restore: float | None = _flag("Time to go on from a checkpoint.", metavar="S")


def workload_of(*flags: BatchFlags | TrainingFlags) -> Workload:
    """Return the workload that flags describe."""
    values = _given_flags(*flags)
    trace = values.pop("trace", None)
    if trace is not None:
        if {"seconds_per_file", "seconds_per_mini_batch"} & {*values}:
            raise UsageError("--trace has the times: leave the other flags of time out.")
        values["times"] = _times(trace)
    return Workload(**values)


def check(jobs: Jobs, name: str, flags: BatchFlags | TrainingFlags) -> None:
    """Refuse a workload for real jobs, by name or by flags."""
    if jobs.simulated:
        return
    flags_set = [*_given_flags(flags), *(["workload"] if name != DEFAULT_NAME else [])]
    if flags_set:
        listed = ", ".join("--" + flag.replace("_", "-") for flag in flags_set)
        text = f"{listed}: only jobs of the simulated cloud (--backend local) have a workload."
        raise UsageError(text)


def _given_flags(*flags: BatchFlags | TrainingFlags) -> dict[str, Any]:
    values: Mapping[str, Any] = {
        name: value for group in flags for name, value in asdict(group).items()
    }
    return {name: value for name, value in values.items() if value is not None}


def _times(trace: Path) -> tuple[float, ...]:
    from mlctl.simulator.engine import traces

    return parse_file(trace, traces.times, code="InvalidTrace")
