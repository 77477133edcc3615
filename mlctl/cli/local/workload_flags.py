"""The flags that say how much there is to do in a job, and how long it takes."""

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
        "A workload defined with `mlctl local workload set NAME`.",
        "--workload",
        metavar="NAME",
        panel=SIMULATED,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFlags:
    """The work of a batch job: its mini-batches."""

    files: int | None = _flag("Files in the input.", metavar="N")
    seconds_per_file: float | None = _flag("Time to process each file.", metavar="S")
    seconds_per_mini_batch: float | None = _flag(
        "Overhead of each mini-batch, in addition to its files.", metavar="S"
    )
    seconds_per_start: float | None = _flag(
        "Time until a new node can work: pulling the image, running init().", metavar="S"
    )
    cv: float | None = _flag(
        "Variation of these times: the coefficient of variation of a log-normal factor.",
        metavar="X",
    )
    fail_probability: float | None = _flag(
        "Probability that an attempt at a mini-batch fails.", metavar="P"
    )
    trace: Path | None = _flag(
        "Times of consecutive mini-batches instead, as JSON: [seconds, ...].", metavar="FILE"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingFlags:
    """The work of a training job: its steps."""

    steps: int | None = _flag("Steps to train.", metavar="N")
    seconds_per_step: float | None = _flag("Time of a step.", metavar="S")
    checkpoint_every: int | None = _flag("Steps between checkpoints; 0 for none.", metavar="N")
    seconds_per_checkpoint: float | None = _flag("Time to write a checkpoint.", metavar="S")
    seconds_to_restore: float | None = _flag("Time to resume from a checkpoint.", metavar="S")


def workload_of(*flags: BatchFlags | TrainingFlags) -> Workload:
    """The workload that flags describe.

    Raises:
        Permanent: the file of times cannot be read, or has none.
        UsageError: times are given in two ways.
    """
    values = _given(*flags)
    trace = values.pop("trace", None)
    if trace is not None:
        if {"seconds_per_file", "seconds_per_mini_batch"} & {*values}:
            raise UsageError("--trace has the times: leave the other flags of time out.")
        values["times"] = _times(trace)
    return Workload(**values)


def check(jobs: Jobs, name: str, flags: BatchFlags | TrainingFlags) -> None:
    """Refuse to describe the work of real jobs, by a workload's name or by flags.

    Raises:
        UsageError: the jobs are real and something is given.
    """
    if jobs.simulated:
        return
    flags_set = [*_given(flags), *(["workload"] if name != DEFAULT_NAME else [])]
    if flags_set:
        listed = ", ".join("--" + flag.replace("_", "-") for flag in flags_set)
        text = f"{listed}: only the simulated cloud (--backend local) has these flags."
        raise UsageError(text)


def _given(*flags: BatchFlags | TrainingFlags) -> dict[str, Any]:
    values: Mapping[str, Any] = {
        name: value for group in flags for name, value in asdict(group).items()
    }
    return {name: value for name, value in values.items() if value is not None}


def _times(trace: Path) -> tuple[float, ...]:
    from mlctl.simulator.engine import traces

    return parse_file(trace, traces.times, code="InvalidTrace")
