"""What the driver of a parallel job brings along: `azureml_user.parallel_run`, and the context of a
mini-batch for a `run` that takes one."""

from __future__ import annotations

import logging
import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def install(output: str, logs: str, working: str) -> None:
    """Make the module, unless the user's Python has one."""
    import importlib.util

    if importlib.util.find_spec("azureml_user") is not None:
        return

    said = {"output_dir": output, "log_dir": logs, "working_dir": working, "root_dir": working}
    kind = type("EntryScript", (), {**said, "logger": logging.getLogger("azureml_user")})
    package, module = types.ModuleType("azureml_user"), types.ModuleType(f"azureml_user.{_NAME}")
    vars(module)["EntryScript"], vars(package)[_NAME] = kind, module
    sys.modules.update({"azureml_user": package, module.__name__: module})
    sys.modules.setdefault("entry_script", module)  # its older name


def context(run: Any, order: dict[str, Any]) -> tuple[Any, ...]:
    """The second argument of a `run` that has one."""
    code = getattr(run, "__code__", None)
    if code is None or code.co_argcount < _WITH_CONTEXT:
        return ()
    said = types.SimpleNamespace(
        minibatch_index=order.get("index"), partition_key_value=order.get("keys"), dataset=None
    )
    return (said,)


_NAME = "parallel_run"
_WITH_CONTEXT = 2
