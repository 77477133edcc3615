"""The worker of a batch deployment: `init` once, then `run` for each mini-batch.

Orders are `{"init": ..., "table": path}`, `{"run": [paths], ...}` and `{"rows": [numbers], ...}`
(of the table, as a DataFrame) with `pause` (stop for ever at this line event), `trace` (count
them), `hold` (stop before the result is sent), `bytes` (files may grow by so much). Sent back:
`up`, `wrote`, `held`, `done`, `failed`.
"""

from __future__ import annotations

import builtins
import json
import os
import resource
import sys

from mlctl.rehearsal.worker.watched import Watched

TYPE_CHECKING = False  # workers start often, so imports are kept few
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from mlctl.rehearsal.worker.pipes import Pipes

# A parallel job's driver provides `azureml_user.parallel_run`.
_PACKAGE, _MODULE = "azureml_user", "azureml_user.parallel_run"
_NAMES = (_PACKAGE, _MODULE, "entry_script")  # the last is its older name
_WITH_CONTEXT = 2  # arguments of a `run` that takes the context of its mini-batch


class DriverModules:
    """Asked last for a module: it provides the driver's modules, with a script's folders."""

    def __init__(self, output: str, logs: str, working: str) -> None:
        folders = {"log_dir": logs, "working_dir": working, "root_dir": working}
        self.attributes = {"output_dir": output, **folders}

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> Any:
        if name not in _NAMES:
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, self, is_package=name == _PACKAGE)  # type: ignore[arg-type]

    def create_module(self, _spec: Any) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        if module.__name__ != _PACKAGE:
            import logging

            attributes = {**self.attributes, "logger": logging.getLogger(_PACKAGE)}
            vars(module)["EntryScript"] = type("EntryScript", (), attributes)


def install_driver(script: str, order: dict[str, Any]) -> None:
    """Let a script import from its folder, and the driver's modules if its Python has none."""
    sys.path.insert(0, os.path.dirname(script))
    sys.meta_path.append(DriverModules(order["output"], order["logs"], os.getcwd()))


def import_script(script: str) -> dict[str, Any]:
    """Import a scoring script, and let it initialise; its names."""
    with builtins.open(script, "rb") as file:
        program = compile(file.read(), script, "exec")
    module = type(sys)("entry_module")
    module.__file__ = script
    sys.modules["entry_module"] = module
    exec(program, module.__dict__)
    if not callable(module.__dict__.get("run")):
        raise AttributeError("the script has no function `run`")  # noqa: TRY004
    if callable(module.__dict__.get("init")):
        module.__dict__["init"]()
    return module.__dict__


def traceback_of(error: BaseException) -> str:
    """Return the end of a traceback, without the lines of this program."""
    import traceback

    trace = error.__traceback__
    own = os.path.dirname(__file__)
    while trace is not None and os.path.dirname(trace.tb_frame.f_code.co_filename) == own:
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace))[-4000:]


def context_of(run: Any, order: dict[str, Any]) -> tuple[Any, ...]:
    """Return the second argument of a `run` that accepts one."""
    code = getattr(run, "__code__", None)
    if code is None or code.co_argcount < _WITH_CONTEXT:
        return ()
    import types

    mini_batch_context = types.SimpleNamespace(
        minibatch_index=order.get("index"), partition_key_value=order.get("keys"), dataset=None
    )
    return (mini_batch_context,)


class Scorer(Watched):
    """A worker: the script, and what is known of the current attempt."""

    def __init__(self, pipes: Pipes, script: str, code: str) -> None:
        self.script = script
        self.module: dict[str, Any] | None = None
        self.table: Any = None
        self.finder: Any = None
        super().__init__(pipes, code)

    def serve(self) -> NoReturn:
        self.pipes.send(up=os.getpid(), version=list(sys.version_info[:3]))
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
                answer = self.load(order) if "init" in order else self.score(order)
            finally:
                sys.settrace(None)
        except BaseException as error:  # SystemExit too: the service counts it as a failure
            self.clock.limit = None
            self.pipes.send(failed=self.describe_error(error), seconds=self.clock.now() - began)
            return
        self.clock.limit = None
        if order.get("hold"):
            self.pipes.send(held=None)
            self.pipes.wait_for_ever()
        answer["seconds"] = self.clock.now() - began
        answer["slept"] = self.clock.slept - slept
        answer["memory"] = memory()
        answer["stand_ins"] = sorted(self.finder.packages) if self.finder else []
        answer["events"] = self.tracer.count
        answer["caught"] = self.tracer.caught
        answer["returned"] = self.tracer.last
        self.pipes.send(**answer)

    def timed_out(self, began: float) -> None:
        self.pipes.send(
            failed={"type": "Timeout", "message": "", "place": self.user_line(), "text": ""},
            seconds=self.clock.now() - began,
        )
        self.pipes.wait_for_ever()

    def load(self, order: dict[str, Any]) -> dict[str, Any]:
        install_driver(self.script, order)
        if order["stand_ins"]:
            from mlctl.rehearsal.worker.stand_ins import Finder

            self.finder = Finder(self.tracer.code)
            sys.meta_path.append(self.finder)
        self.counts = True
        self.module = import_script(self.script)
        if order.get("table"):
            import pickle

            with builtins.open(order["table"], "rb") as file:
                self.table = pickle.load(file)  # noqa: S301 - written by `table.py`
        return {"done": "init"}

    def mini_batch(self, order: dict[str, Any]) -> Any:
        if "rows" in order:
            return self.table.iloc[order["rows"]].reset_index(drop=True)
        return list(order["run"])

    def score(self, order: dict[str, Any]) -> dict[str, Any]:
        assert self.module is not None
        run = self.module["run"]
        result = run(self.mini_batch(order), *context_of(run, order))
        kind = type(result).__name__
        if result is None:
            return {"done": "run", "rows": [], "length": None, "kind": kind}
        rows = rows_of(result)
        length = len(result) if hasattr(result, "__len__") else len(rows)
        return {"done": "run", "rows": rows, "length": length, "kind": kind}

    def describe_error(self, error: BaseException) -> dict[str, Any]:
        import traceback

        place: list[Any] | None = None
        source = error.filename if isinstance(error, SyntaxError) else None
        if source is not None and source.startswith(self.tracer.code):
            place = [source[len(self.tracer.code) :], getattr(error, "lineno", None) or 1]
        for frame, line in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_filename.startswith(self.tracer.code):
                place = [frame.f_code.co_filename[len(self.tracer.code) :], line]
        return {
            "type": type(error).__name__,
            "message": str(error)[:500],
            "errno": getattr(error, "errno", None),
            "place": place,
            "text": traceback_of(error),
        }


def rows_of(result: Any, separator: str = ",") -> list[str]:
    """Return the rows that `append_row` writes for a result: a data frame's without the header."""
    if hasattr(result, "to_csv"):
        text = result.to_csv(header=False, index=False, sep=separator)
        return text.split("\n")[:-1] if text else []
    if isinstance(result, (str, bytes)):
        return [str(result)]
    try:
        return [row if isinstance(row, str) else str(row) for row in result]
    except TypeError:
        return [str(result)]


def memory() -> int | None:
    """Return the resident bytes of this process; None if the system does not tell."""
    try:
        with builtins.open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return None
