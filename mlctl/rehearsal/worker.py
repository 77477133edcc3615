"""The program of a worker: imports a scoring script as the service does, and does as it is told.

It is run by the user's interpreter (Python 3.8 or newer), with the standard library alone:

    python worker.py CONTROL REPORT SCRIPT CODE MEMORY ALONE PARENT [ARGUMENT ...]

CONTROL and REPORT are descriptors of pipes with a JSON object a line. Orders are `{"init": ...}`
and `{"run": [paths], ...}` with `pause` (stop for ever at this line event), `trace` (count them),
`hold` (stop before the result is told), `bytes` (files may grow by so much). What is told: `up`,
`wrote`, `held`, `done`, `failed`.
"""

from __future__ import annotations

import atexit
import builtins
import json
import os
import resource
import signal
import sys
import threading
import time

TYPE_CHECKING = False  # a worker starts often: what it does not need it does not import
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any, NoReturn

_SKIPPED = (StopIteration, GeneratorExit)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC
_PR_SET_PDEATHSIG = 1


class Pipes:
    """Lines of JSON to and from the process that rehearses."""

    def __init__(self, control: int, report: int) -> None:
        for descriptor in (control, report):
            os.set_inheritable(descriptor, False)  # noqa: FBT003
        self.control = os.fdopen(control, "rb")
        self.report = report
        self.owner = os.getpid()
        self.forever = False

    def tell(self, **message: Any) -> None:
        if os.getpid() != self.owner:
            return
        data = (json.dumps(message) + "\n").encode()
        while data:
            data = data[os.write(self.report, data) :]

    def wait_for_ever(self) -> NoReturn:
        if not self.control.read():
            while self.forever:
                signal.pause()
        os._exit(0)  # whoever rehearses is gone


class Clock:
    """The clock of the script: that of the machine, and what it would have slept."""

    def __init__(self) -> None:
        self.slept = 0.0
        self.limit: float | None = None
        self.on_limit: Callable[[], None] = lambda: None
        self._sleep, self._monotonic = time.sleep, time.monotonic
        self._time, self._counter = time.time, time.perf_counter
        time.sleep = self.sleep  # type: ignore[assignment]
        time.time = lambda: self._time() + self.slept
        time.monotonic = lambda: self._monotonic() + self.slept
        time.perf_counter = lambda: self._counter() + self.slept

    def now(self) -> float:
        return self._monotonic() + self.slept

    def sleep(self, seconds: float) -> None:
        if threading.current_thread() is not threading.main_thread():
            self._sleep(seconds)
            return
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        self.slept += seconds
        self._sleep(0)
        if self.limit is not None and self.now() > self.limit:
            self.on_limit()


class Tracer:
    """Line events of the user's files: counts them, stops at one, sees what is caught."""

    def __init__(self, code: str, pipes: Pipes) -> None:
        self.code = code + os.sep
        self.pipes = pipes
        self.reset(None)

    def reset(self, pause: int | None) -> None:
        self.count, self.pause = 0, pause
        self.raised: dict[FrameType, tuple[str, str]] = {}
        self.caught: list[list[Any]] = []
        self.last: list[Any] | None = None

    def start(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(self.code):
            return None
        return self.local

    def local(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.count += 1
            raised = self.raised.pop(frame, None)
            if raised is not None:
                self.caught.append([*raised, self.place(frame)])
            if self.count == self.pause:
                self.pipes.tell(held=self.place(frame))
                self.pipes.wait_for_ever()
        elif event == "exception":
            if not issubclass(argument[0], _SKIPPED):
                self.raised[frame] = (argument[0].__name__, str(argument[1])[:200])
        elif event == "return":
            self.raised.pop(frame, None)
            if frame.f_code.co_name == "run":
                self.last = self.place(frame)
        return self.local

    def place(self, frame: FrameType) -> list[Any]:
        return [frame.f_code.co_filename[len(self.code) :], frame.f_lineno]


class Worker:
    """One worker: the script, and what it was told about the attempt at hand."""

    def __init__(self, pipes: Pipes, script: str, code: str) -> None:
        self.pipes, self.script = pipes, script
        self.clock, self.tracer = Clock(), Tracer(code, pipes)
        self.bytes: int | None = None
        self.module: dict[str, Any] | None = None
        sys.addaudithook(self.audit)

    def serve(self) -> NoReturn:
        self.pipes.tell(up=os.getpid(), version=list(sys.version_info[:3]))
        for line in self.pipes.control:
            order = json.loads(line)
            self.obey(order)
        os._exit(0)

    def obey(self, order: dict[str, Any]) -> None:
        began, slept = self.clock.now(), self.clock.slept
        self.tracer.reset(order.get("pause"))
        self.bytes = order.get("bytes")
        timeout = order.get("timeout")
        self.clock.limit = None if timeout is None else began + timeout
        self.clock.on_limit = lambda: self.timed_out(began)
        if self.bytes is not None:
            self.bound_files()
        try:
            if order.get("trace"):
                sys.settrace(self.tracer.start)
            try:
                told = self.load() if "init" in order else self.score(order["run"])
            finally:
                sys.settrace(None)
        except BaseException as error:  # SystemExit too: the service counts it as a failure
            self.clock.limit = None
            self.pipes.tell(failed=self.described(error), seconds=self.clock.now() - began)
            return
        self.clock.limit = None
        if order.get("hold"):
            self.pipes.tell(held=None)
            self.pipes.wait_for_ever()
        told["seconds"] = self.clock.now() - began
        told["slept"] = self.clock.slept - slept
        told["memory"] = memory()
        told["events"] = self.tracer.count
        told["caught"] = self.tracer.caught
        told["returned"] = self.tracer.last
        self.pipes.tell(**told)

    def timed_out(self, began: float) -> None:
        self.pipes.tell(
            failed={"type": "Timeout", "message": "", "place": self.user_line(), "text": ""},
            seconds=self.clock.now() - began,
        )
        self.pipes.wait_for_ever()

    def load(self) -> dict[str, Any]:
        sys.path.insert(0, os.path.dirname(self.script))
        with builtins.open(self.script, "rb") as file:
            program = compile(file.read(), self.script, "exec")
        module = type(sys)("entry_module")
        module.__file__ = self.script
        sys.modules["entry_module"] = module
        self.module = module.__dict__
        exec(program, self.module)
        if not callable(self.module.get("run")):
            raise AttributeError("the script has no function `run`")  # noqa: TRY004
        if callable(self.module.get("init")):
            self.module["init"]()
        return {"done": "init"}

    def score(self, paths: list[str]) -> dict[str, Any]:
        assert self.module is not None
        result = self.module["run"](list(paths))
        kind = type(result).__name__
        if result is None:
            return {"done": "run", "rows": [], "length": None, "kind": kind}
        rows = rows_of(result)
        length = len(result) if hasattr(result, "__len__") else len(rows)
        return {"done": "run", "rows": rows, "length": length, "kind": kind}

    def bound_files(self, size: int = 0) -> None:
        if hasattr(signal, "SIGXFSZ"):
            if size == 0:
                quiet = os.open(os.devnull, os.O_WRONLY)  # what a lost node has logged is lost
                os.dup2(quiet, 1)
                os.dup2(quiet, 2)
                signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + (self.bytes or 0), hard))

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Tell what is written, and by which line, before it happens."""
        if event == "open":
            path, mode, flags = arguments
            writes = any(c in mode for c in "wax+") if isinstance(mode, str) else False
            if not (writes or (isinstance(flags, int) and flags & _WRITING)):
                return
            appends = (isinstance(mode, str) and "a" in mode) or (
                isinstance(flags, int) and bool(flags & os.O_APPEND)
            )
            how = "append" if appends else "write"
        elif event in ("os.rename", "os.link", "os.symlink"):
            path, how = arguments[1], "move"
        elif event in ("os.remove", "os.mkdir", "os.rmdir", "os.truncate"):
            path, how = arguments[0], event[3:]
        elif event == "socket.bind":
            address = arguments[1]
            if isinstance(address, tuple) and len(address) > 1 and address[1]:
                self.pipes.tell(bound=address[1], place=self.user_line())
            return
        else:
            return
        if not isinstance(path, (str, bytes, os.PathLike)):
            return
        full = os.path.abspath(os.fsdecode(path))
        if full == os.devnull or full.startswith(("/proc/", "/dev/")) or self.module is None:
            return
        if how == "append" and self.bytes is not None:
            self.bound_files(os.path.getsize(full) if os.path.exists(full) else 0)
        self.pipes.tell(
            wrote=full,
            how=how,
            place=self.user_line(),
            events=self.tracer.count,
            at=self.clock.now(),
        )

    def user_line(self) -> list[Any] | None:
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            if frame.f_code.co_filename.startswith(self.tracer.code):
                return self.tracer.place(frame)
            frame = frame.f_back
        return None

    def described(self, error: BaseException) -> dict[str, Any]:
        import traceback

        place: list[Any] | None = None
        source = error.filename if isinstance(error, SyntaxError) else None
        if source is not None and source.startswith(self.tracer.code):
            place = [source[len(self.tracer.code) :], getattr(error, "lineno", None) or 1]
        shown = error.__traceback__
        while shown is not None and shown.tb_frame.f_code.co_filename == __file__:
            shown = shown.tb_next
        for frame, line in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_filename.startswith(self.tracer.code):
                place = [frame.f_code.co_filename[len(self.tracer.code) :], line]
        return {
            "type": type(error).__name__,
            "message": str(error)[:500],
            "errno": getattr(error, "errno", None),
            "place": place,
            "text": "".join(traceback.format_exception(type(error), error, shown))[-4000:],
        }


class Watch(Worker):
    """A training, watched from within: what it writes, where it is; stopped where it was said.

    `pause` is the line event at which it stops, `cut` the number of the write to the kept folders
    that is cut after `bytes`.
    """

    def __init__(self, pipes: Pipes, code: str, order: dict[str, Any]) -> None:
        self.kept: list[str] = order["kept"]
        self.cut, self.size = order.get("cut"), order.get("bytes", 0)
        self.writes = 0
        super().__init__(pipes, code, code)
        self.module = {}
        self.tracer.reset(order.get("pause"))
        sys.settrace(self.tracer.start)
        self.began = self.clock.now()
        atexit.register(self.ended)

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Count the writes to what is kept, and cut the one that is to be cut."""
        if event == "open" and self.cut is not None and isinstance(arguments[1], str):
            path = os.path.abspath(os.fsdecode(arguments[0])) if _is_path(arguments[0]) else ""
            if any(c in arguments[1] for c in "wx") and path.startswith(tuple(self.kept)):
                self.writes += 1
                if self.writes == self.cut:
                    self.bytes = self.size
                    self.bound_files()
        super().audit(event, arguments)

    def ended(self) -> None:
        """The end of the program, as far as Python sees it."""
        sys.settrace(None)
        self.pipes.tell(ended=True, events=self.tracer.count, seconds=self.clock.now() - self.began)


def watch() -> None:
    """Called by every Python that starts in a rehearsed training."""
    order = json.loads(os.environ["MLCTL_REHEARSAL_ORDER"])
    try:
        os.fstat(order["report"])
    except OSError:
        return  # a process that was not given the pipe
    pipes = Pipes(os.open(os.devnull, os.O_RDONLY), os.dup(order["report"]))
    pipes.forever = True  # until it is killed, with its group
    Watch(pipes, order["code"], order)


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, bytes, os.PathLike))


def rows_of(result: Any) -> list[str]:
    """The rows that `append_row` writes of a result: a data frame's without their header."""
    if hasattr(result, "to_csv"):
        text = result.to_csv(header=False, index=False)
        return text.split("\n")[:-1] if text else []
    if isinstance(result, (str, bytes)):
        return [str(result)]
    try:
        return [one if isinstance(one, str) else str(one) for one in result]
    except TypeError:
        return [str(result)]


def memory() -> int | None:
    """Resident bytes of this process; None where the system does not tell."""
    try:
        with builtins.open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return None


def die_with_parent() -> None:
    """Ask Linux to end this process when the one that rehearses is gone."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    except (ImportError, OSError, AttributeError):
        return


def loopback_up() -> None:
    """In a network of its own, let the loopback work as on a node."""
    import fcntl
    import socket
    import struct

    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            name = struct.pack("16sh", b"lo", 1)  # IFF_UP
            fcntl.ioctl(one, 0x8914, name + b"\0" * 14)  # SIOCSIFFLAGS
    except OSError:
        return


def main() -> None:
    control, report, script, code, most, alone, parent = sys.argv[1:8]
    sys.argv = [script, *sys.argv[8:]]
    die_with_parent()
    if os.getppid() != int(parent):
        os._exit(0)
    if alone == "1":
        loopback_up()
    if int(most):
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        bound = int(most) if hard == resource.RLIM_INFINITY else min(int(most), hard)
        resource.setrlimit(resource.RLIMIT_DATA, (bound, hard))
    Worker(Pipes(int(control), int(report)), script, code).serve()


if __name__ == "__main__":
    main()
