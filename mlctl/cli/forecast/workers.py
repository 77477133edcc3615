"""Who carries out the histories of a forecast: this process, others, or a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mlctl.cli.shell import UsageError, flag
from mlctl.dataclasses import dataclass
from mlctl.service_errors import Permanent

if TYPE_CHECKING:
    from concurrent.futures import Executor


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerArgs:
    """Who is at work; it changes nothing but the time."""

    workers: int = flag("Processes at work.", default=1, min=1, max=256, metavar="N")
    scheduler: str | None = flag(
        "The workers of a Dask cluster instead: tcp://HOST:PORT.", metavar="ADDRESS"
    )


@contextmanager
def executor_of(args: WorkerArgs) -> Iterator[Executor | None]:
    """Who carries histories out; None: this process.

    Raises:
        Permanent: there are no such workers, or they went away.
    """
    if args.scheduler is not None and args.workers > 1:
        raise UsageError("--workers and --scheduler say the same: give one of them.")
    if args.scheduler is None and args.workers == 1:
        yield None
        return
    from mlctl.forecast import executors

    executors_ = (
        executors.processes(args.workers)
        if args.scheduler is None
        else executors.cluster(args.scheduler)
    )
    try:
        with executors_ as executor:
            yield executor
    except executors.WorkersError as error:
        raise Permanent("NoWorkers", str(error)) from None
