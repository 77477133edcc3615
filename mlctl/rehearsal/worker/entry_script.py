"""What the driver of a parallel job brings along: `azureml_user.parallel_run`, and the context of a
mini-batch for a `run` that takes one."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PACKAGE, _MODULE = "azureml_user", "azureml_user.parallel_run"
_NAMES = (_PACKAGE, _MODULE, "entry_script")  # the last is its older name
_WITH_CONTEXT = 2  # arguments of such a `run`


class Driver:
    """The last to be asked for a module: it knows those of the driver, with a script's folders."""

    def __init__(self, output: str, logs: str, working: str) -> None:
        folders = {"log_dir": logs, "working_dir": working, "root_dir": working}
        self.said = {"output_dir": output, **folders}

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

            said = {**self.said, "logger": logging.getLogger(_PACKAGE)}
            vars(module)["EntryScript"] = type("EntryScript", (), said)


def install(output: str, logs: str, working: str) -> None:
    """Have the driver's modules where the user's Python has none."""
    sys.meta_path.append(Driver(output, logs, working))


def context(run: Any, order: dict[str, Any]) -> tuple[Any, ...]:
    """The second argument of a `run` that has one."""
    code = getattr(run, "__code__", None)
    if code is None or code.co_argcount < _WITH_CONTEXT:
        return ()
    import types

    said = types.SimpleNamespace(
        minibatch_index=order.get("index"), partition_key_value=order.get("keys"), dataset=None
    )
    return (said,)
