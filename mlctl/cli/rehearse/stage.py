"""Where a rehearsal runs: its folder, its interpreter, its bounds; in the end nothing is left."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlctl import files
from mlctl.cli.parser.arguments import InvalidValue
from mlctl.cli.rehearse.options import RunArgs
from mlctl.cli.shell.session import Session

if TYPE_CHECKING:
    from mlctl.rehearsal.stage import Stage

_PATIENCE = 600.0  # seconds for a rehearsal, unless --timeout says otherwise
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def stage(session: Session, runs: RunArgs) -> Iterator[Stage]:
    """Folder, interpreter and environment; in the end no process and no folder is left.

    Raises:
        InvalidValue: there is no such Python, or the folder cannot be made.
    """
    from mlctl.rehearsal.process import Interpreter, find_python, sweep, without_network
    from mlctl.rehearsal.stage import Stage

    try:
        exe = find_python(runs.python)
    except OSError as error:
        raise InvalidValue(str(error), flag="--python") from None
    if not runs.network and not without_network():
        session.note("note: this system gives no process a network of its own: it stays open")
    folder = _folder(runs.keep)
    mark = uuid.uuid4().hex
    ends = time.monotonic() + (session.flags.timeout or _PATIENCE)
    alone = not runs.network and bool(without_network())
    interpreter = Interpreter(exe, alone, _memory(), mark, ends)
    # nohup ignores one
    heard = [signum for signum in _SIGNALS if signal.getsignal(signum) is not signal.SIG_IGN]
    handlers = {number: signal.signal(number, _interrupt) for number in heard}
    try:
        yield Stage(interpreter, folder, session.environment, runs.keep is not None)
    finally:
        sweep(mark)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if runs.keep is None:
            shutil.rmtree(folder, ignore_errors=True)


def _interrupt(_number: int, _frame: Any) -> None:
    raise KeyboardInterrupt


def _folder(keep: Path | None) -> Path:
    if keep is None:
        return Path(tempfile.mkdtemp(prefix="mlctl-rehearsal-"))
    try:
        keep.mkdir(parents=True)
    except OSError as error:
        why = f"cannot make the folder `{keep}`: {error.strerror}"
        raise InvalidValue(why, flag="--keep") from None
    return files.real(keep)


def _memory() -> int:
    """The bytes of data that one worker may have: the memory of the machine."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0
