"""A job begun, carried out and ended, under the lease of its only controller."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mlctl import files
from mlctl.applying.lease import LeaseRequest, holder, under_lease
from mlctl.backends.ports.backend import Backend
from mlctl.backends.ports.lease import FINISH
from mlctl.cli.finish import results
from mlctl.cli.finish.offer import Offer
from mlctl.cli.finish.options import FinishFormat, TellArgs
from mlctl.cli.finish.records import (
    cloud_of,
    journals_of,
    records_of,
    summary,
)
from mlctl.cli.finish.watching import shown
from mlctl.cli.shell import Exit, Session
from mlctl.dataclasses import replace
from mlctl.finishing.controller import Controller
from mlctl.finishing.progress import Progress, Record
from mlctl.render import finish as render
from mlctl.service_errors import Permanent, ServiceError

_CODES = {
    "done": Exit.OK,
    "late": Exit.LATE,
    "too dear": Exit.TOO_DEAR,
    "impossible": Exit.IMPOSSIBLE,
    "cancelled": Exit.CANCELLED,
}


def begin(session: Session, offer: Offer, tell_args: TellArgs, *, yes: bool) -> Exit:
    """Show what will be done, ask, and carry it out."""
    order = offer.order
    if tell_args.output is FinishFormat.HUMAN:
        session.out(render.offer(order.document(), offer.compared, width=session.width))
    if not (yes or session.confirmed("Begin?")):
        return Exit.CANCELLED
    with held(session, order.name) as backend:
        _write_first(backend, offer, tell_args)
        return carry_out(session, backend, order.name, tell_args)


def _write_first(backend: Backend, offer: Offer, tell_args: TellArgs) -> None:
    """Prepare the workspace, and begin the journal."""
    order, journals, cloud = offer.order, journals_of(backend), cloud_of(backend)
    if journals.read(order.name):
        raise Permanent("NameTaken", f"`{order.name}` already exists: choose another --name")
    if cloud.find(order.name) is not None:
        raise Permanent("NameTaken", f"there is a job `{order.name}`: choose another --name")
    if order.job is None and not order.whole:
        results.folder_of(order, tell_args.results, is_new=True)
    offer.prepare(backend)
    if order.job is None:
        order = replace(order, version=cloud.version(order))
    first = {"at": cloud.now(), "event": "begun", "order": order.document()}
    journals.append(order.name, {**first, "forecast": offer.compared})


@contextmanager
def held(session: Session, name: str) -> Iterator[Backend]:
    """The backend as it writes under the lease of a job, which one controller has at a time."""
    request = LeaseRequest(FINISH + name, holder(f"mlctl finish {name}", session.environment))
    with session.backend() as backend, under_lease(backend, request, threading.Event()) as leased:
        yield leased


def controller_of(backend: Backend, name: str) -> Controller:
    """The controller of a job, as far as its journal says that it is.

    Raises:
        NotFound: there is no such job.
    """
    journals, cloud = journals_of(backend), cloud_of(backend)

    def append(record: Record) -> None:
        cloud.patiently(lambda: journals.append(name, record))

    return Controller(Progress.of(records_of(journals, name)), cloud, append)


def carry_out(session: Session, backend: Backend, name: str, tell_args: TellArgs) -> Exit:
    """Go on with a job to its end, and put its results together."""
    controller = controller_of(backend, name)
    _check_source(controller.progress)
    results.folder_of(controller.progress.order, tell_args.results)
    previous = signal.signal(signal.SIGTERM, _terminate)
    try:
        with shown(session, backend, controller, tell_args.output) as controller.note:
            controller.carry_out()
    except KeyboardInterrupt as interrupt:
        asks = sys.stdin.isatty() and not isinstance(interrupt, _Terminated)
        if asks and session.confirmed("\nCancel what runs? (n leaves it running)"):
            controller.cancel()
        else:
            session.say(f"Left as it is: mlctl finish resume {name}")
        return Exit.CANCELLED
    except ServiceError:
        session.say(f"Left as it is, with what runs: mlctl finish resume {name}")
        raise
    finally:
        signal.signal(signal.SIGTERM, previous)
    return _ended(session, backend, controller.progress, tell_args)


class _Terminated(KeyboardInterrupt): ...


def _terminate(*_: object) -> None:
    """SIGTERM leaves it as it is, without a question, and gives the lease back."""
    raise _Terminated


def _ended(session: Session, backend: Backend, progress: Progress, tell_args: TellArgs) -> Exit:
    """Fetch the results of a job that has ended, and tell of it."""
    assert progress.outcome is not None
    code = _CODES[progress.outcome.value]
    if progress.is_done and (progress.order.job is not None or progress.order.whole):
        last = progress.runs[-1].name
        session.note(f"its outputs are those of its last run: mlctl job download -n {last} --all")
    elif progress.is_done:
        folder = results.folder_of(progress.order, tell_args.results)
        code = results.put_together(session, backend, progress, folder) or code
    data = summary(progress)
    if tell_args.notify is not None:
        subprocess.run(  # noqa: S602 - what the user wants to be run
            tell_args.notify, shell=True, input=json.dumps(data), text=True, check=False
        )
    if tell_args.output is FinishFormat.HUMAN:
        session.out(render.summary(data))
    return code


def _check_source(progress: Progress) -> None:
    """Refuse to go on where files are to be sent that are on another machine."""
    order = progress.order
    is_whole = progress.uploaded or progress.outcome is not None
    if order.upload and not is_whole and not files.is_folder(Path(order.source)):
        text = (
            f"the files of `{order.source}` were not all sent when the controller ended, and there"
            f" is no such folder here: go on where it is, or `mlctl finish cancel {order.name}`"
        )
        raise Permanent("FilesElsewhere", text)
