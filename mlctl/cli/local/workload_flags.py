"""The flags that say how much there is to do in a job, and how long it takes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlctl.backends.ports.jobs import Jobs
from mlctl.cli.parser.arguments import UsageError
from mlctl.cli.parser.command import option
from mlctl.cli.parser.tree import SIMULATED
from mlctl.service_errors import Permanent
from mlctl.workload import DEFAULT_NAME, Workload

BATCH = (
    option(
        "files",
        "--files",
        type_=int | None,
        metavar="N",
        help="Files in the input.",
        panel=SIMULATED,
    ),
    option(
        "seconds_per_file",
        "--seconds-per-file",
        type_=float | None,
        metavar="S",
        help="Time of each file of a mini-batch.",
        panel=SIMULATED,
    ),
    option(
        "seconds_per_mini_batch",
        "--seconds-per-mini-batch",
        type_=float | None,
        metavar="S",
        help="Time of each mini-batch, besides that of its files.",
        panel=SIMULATED,
    ),
    option(
        "cv",
        "--cv",
        type_=float | None,
        metavar="X",
        help="Spread of these times: the coefficient of variation of a log-normal factor.",
        panel=SIMULATED,
    ),
    option(
        "fail_probability",
        "--fail-probability",
        type_=float | None,
        metavar="P",
        help="How likely an attempt at a mini-batch is to fail.",
        panel=SIMULATED,
    ),
    option(
        "trace",
        "--trace",
        type_=Path | None,
        metavar="FILE",
        help="Times of mini-batches, one after the other, instead: JSON, [seconds, ...].",
        panel=SIMULATED,
    ),
)
TRAINING = (
    option(
        "steps", "--steps", type_=int | None, metavar="N", help="Steps to train.", panel=SIMULATED
    ),
    option(
        "seconds_per_step",
        "--seconds-per-step",
        type_=float | None,
        metavar="S",
        help="Time of a step.",
        panel=SIMULATED,
    ),
    option(
        "checkpoint_every",
        "--checkpoint-every",
        type_=int | None,
        metavar="N",
        help="Steps between checkpoints; 0 for none.",
        panel=SIMULATED,
    ),
    option(
        "seconds_per_checkpoint",
        "--seconds-per-checkpoint",
        type_=float | None,
        metavar="S",
        help="Time to write a checkpoint.",
        panel=SIMULATED,
    ),
    option(
        "seconds_to_restore",
        "--seconds-to-restore",
        type_=float | None,
        metavar="S",
        help="Time to go on from a checkpoint.",
        panel=SIMULATED,
    ),
)
_FIELDS = [one.name for one in (*BATCH, *TRAINING) if one.name != "trace"]


def load(words: Mapping[str, Any]) -> Workload:
    """What the flags say.

    Raises:
        Permanent: the file of times cannot be read, or has none.
        UsageError: times are given in two ways.
    """
    given = {name: words[name] for name in _FIELDS if words.get(name) is not None}
    trace = words.get("trace")
    if trace is not None:
        if {"seconds_per_file", "seconds_per_mini_batch"} & {*given}:
            raise UsageError("--trace has the times: leave the other flags of time out.")
        given["times"] = _times(trace)
    return Workload(**given)


def check(jobs: Jobs, words: Mapping[str, Any]) -> None:
    """See that nobody tells real jobs how long they take.

    Raises:
        UsageError: somebody does.
    """
    if jobs.simulated:
        return
    given = [name for name in (*_FIELDS, "trace") if words.get(name) is not None]
    given += ["workload"] if words["workload"] != DEFAULT_NAME else []
    if given:
        said = ", ".join("--" + name.replace("_", "-") for name in given)
        text = f"{said}: only the simulated cloud (--backend local) is told what work takes."
        raise UsageError(text)


def text_of(file: Path) -> str:
    """What is in a file of the command line.

    Raises:
        Permanent: it cannot be read.
    """
    try:
        return file.expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise Permanent("CannotRead", f"cannot read `{file}`: {why}") from None


def _times(trace: Path) -> tuple[float, ...]:
    from mlctl.simulator.engine import traces
    from mlctl.simulator.engine.commands import EngineError

    text = text_of(trace)
    try:
        return traces.times(text)
    except EngineError as refused:
        raise Permanent("InvalidTrace", f"`{trace}`: {refused}") from None
