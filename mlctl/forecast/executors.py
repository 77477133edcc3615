"""Run histories in other processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import active_children, parent_process
from pkgutil import resolve_name
from threading import Thread
from typing import Any, ParamSpec, TypeVar

from mlctl.version import __version__

_P = ParamSpec("_P")
_T = TypeVar("_T")
_SAFE_PATH = "PYTHONSAFEPATH"
_PATIENCE_S = 10  # seconds for a scheduler to answer


class WorkersError(Exception):
    """There are no workers, or they went away."""


@contextmanager
def processes(count: int) -> Iterator[Executor]:
    """Start so many processes on this machine; none of them outlives the block.

    Raises:
        WorkersError: one of them was killed.
    """
    earlier_children = active_children()
    safe_before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"  # new programs do not import anything from this folder
    pool = _Processes(count, initializer=_begin)
    try:
        yield pool
    except BrokenExecutor:
        raise WorkersError(
            "a worker process was killed, perhaps for lack of memory: try fewer --workers"
        ) from None
    finally:
        for child in active_children():
            if child not in earlier_children and child.pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(child.pid, signal.SIGINT)
        pool.shutdown(cancel_futures=True)
        if safe_before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = safe_before


class _Processes(ProcessPoolExecutor):
    """Processes whose work SIGINT interrupts, but not while they send a result."""

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Submit as every executor does."""
        return super().submit(_interruptible, fn, args, kwargs)


class _State:
    """What a signal handler knows of this worker."""

    working = False
    stopped = False


def _begin() -> None:
    signal.signal(signal.SIGINT, _stop)
    Thread(target=_end_with_parent, daemon=True).start()


def _stop(*_: object) -> None:
    _State.stopped = True
    if _State.working:
        raise KeyboardInterrupt


def _interruptible(
    work: Callable[..., _T], args: Sequence[object], kwargs: Mapping[str, object]
) -> _T:
    if _State.stopped:
        raise KeyboardInterrupt
    _State.working = True
    try:
        return work(*args, **kwargs)
    finally:
        _State.working = False


def _end_with_parent() -> None:
    """End when the parent was killed, since nobody else would end this process."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """Connect to the workers of a Dask cluster by its scheduler's address: tcp://HOST:PORT.

    Raises:
        WorkersError: Dask is not installed, the scheduler does not answer, it has no workers, these
            have another version of mlctl, or one of them went away.
    """
    try:
        from distributed import Client, KilledWorker  # noqa: PLC0415  # takes a second
    except ImportError:
        raise WorkersError(
            "--scheduler needs Dask, which is not installed: pip install 'mlctl-azure[distributed]'"
        ) from None
    _check_scheduler(address)
    try:
        with Client(address, timeout=_PATIENCE_S, set_as_default=False) as client:
            versions = client.run(resolve_name, "mlctl:__version__", on_error="return")
            _check_workers(address, versions)
            executor = client.get_executor(pure=False)
            try:
                yield executor
            finally:
                executor.shutdown(wait=False)
    except (KilledWorker, CancelledError, ConnectionError, TimeoutError) as error:
        raise WorkersError(f"the cluster of {address} lost a worker, or its scheduler") from error


def _check_scheduler(address: str) -> None:
    """Check the scheduler first: a Client would try for longer, and complain when collected."""
    import asyncio  # noqa: PLC0415  # only a cluster needs it

    from distributed import rpc  # noqa: PLC0415

    async def identity() -> Any:
        async with rpc(address) as scheduler:
            return await scheduler.identity()

    try:
        kind = asyncio.run(asyncio.wait_for(identity(), _PATIENCE_S))["type"]
    except (ValueError, TypeError) as error:
        raise WorkersError(f"`{address}` is not the address of a scheduler: {error}") from None
    except OSError:
        raise WorkersError(f"no Dask scheduler answers at {address}") from None
    if kind != "Scheduler":
        raise WorkersError(f"{address} is not a scheduler but a {kind}")


def _check_workers(address: str, versions: Mapping[str, object]) -> None:
    if not versions:
        raise WorkersError(f"the scheduler at {address} has no workers: dask worker {address}")
    for worker, version in sorted(versions.items()):
        if isinstance(version, BaseException):
            raise WorkersError(f"the worker {worker} has no mlctl: install {__version__} there")
        if version != __version__:
            raise WorkersError(
                f"the worker {worker} has mlctl {version}: here it is {__version__}, and one"
                " forecast needs one version"
            )
