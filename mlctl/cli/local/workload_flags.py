"""The flags that say how much there is to do in a job, and how long it takes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mlctl.cli.local.flag_text import parse_file
from mlctl.cli.parser.arguments import UsageError
from mlctl.cli.parser.declare import OptionSpec
from mlctl.cli.parser.tree import SIMULATED
from mlctl.dataclasses import asdict, dataclass
from mlctl.workload import DEFAULT_NAME, Workload

if TYPE_CHECKING:
    from mlctl.backends.ports.jobs import Jobs


def _flag(name: str, metavar: str, help: str) -> Any:  # noqa: A002
    return OptionSpec(name, metavar=metavar, help=help, panel=SIMULATED)


WorkloadName = Annotated[
    str, _flag("--workload", "NAME", "What `mlctl local workload set NAME` said of the work.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFlags:
    """The work of a batch job: its mini-batches."""

    files: Annotated[int | None, _flag("--files", "N", "Files in the input.")] = None
    seconds_per_file: Annotated[
        float | None, _flag("--seconds-per-file", "S", "Time of each file of a mini-batch.")
    ] = None
    seconds_per_mini_batch: Annotated[
        float | None,
        _flag(
            "--seconds-per-mini-batch",
            "S",
            "Time of each mini-batch, besides that of its files.",
        ),
    ] = None
    seconds_per_start: Annotated[
        float | None,
        _flag(
            "--seconds-per-start",
            "S",
            "Time until a node that comes to the job can work: image, init().",
        ),
    ] = None
    cv: Annotated[
        float | None,
        _flag(
            "--cv",
            "X",
            "Spread of these times: the coefficient of variation of a log-normal factor.",
        ),
    ] = None
    fail_probability: Annotated[
        float | None,
        _flag("--fail-probability", "P", "How likely an attempt at a mini-batch is to fail."),
    ] = None
    trace: Annotated[
        Path | None,
        _flag(
            "--trace",
            "FILE",
            "Times of mini-batches, one after the other, instead: JSON, [seconds, ...].",
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingFlags:
    """The work of a training job: its steps."""

    steps: Annotated[int | None, _flag("--steps", "N", "Steps to train.")] = None
    seconds_per_step: Annotated[
        float | None, _flag("--seconds-per-step", "S", "Time of a step.")
    ] = None
    checkpoint_every: Annotated[
        int | None, _flag("--checkpoint-every", "N", "Steps between checkpoints; 0 for none.")
    ] = None
    seconds_per_checkpoint: Annotated[
        float | None, _flag("--seconds-per-checkpoint", "S", "Time to write a checkpoint.")
    ] = None
    seconds_to_restore: Annotated[
        float | None, _flag("--seconds-to-restore", "S", "Time to go on from a checkpoint.")
    ] = None


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
        text = f"{listed}: only the simulated cloud (--backend local) is told what work takes."
        raise UsageError(text)


def _given(*flags: BatchFlags | TrainingFlags) -> dict[str, Any]:
    values: Mapping[str, Any] = {
        name: value for group in flags for name, value in asdict(group).items()
    }
    return {name: value for name, value in values.items() if value is not None}


def _times(trace: Path) -> tuple[float, ...]:
    from mlctl.simulator.engine import traces

    return parse_file(trace, traces.times, code="InvalidTrace")
