"""mlctl: declarative infrastructure as code for Azure Machine Learning.

The functions of `mlctl.api` are here too, imported when they are first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlctl.version import __version__

if TYPE_CHECKING:
    from mlctl.api import *

# Before a folder of mlctl is imported, Python asks here for it: only these names are the library's.
__all__ = [
    "Address",
    "Backend",
    "CannotRename",
    "Diagnostic",
    "Forecast",
    "InvalidFiles",
    "InvalidOption",
    "LeaseHeld",
    "LoadedConfig",
    "Outcome",
    "Planned",
    "Project",
    "ProjectError",
    "Refused",
    "Report",
    "ServiceError",
    "SeveralProjects",
    "UnknownEnvironment",
    "VariableError",
    "WriteError",
    "__version__",
    "apply",
    "load",
    "open_workspace",
    "plan",
    "read_project",
    "simulate",
    "validate",
]


def __getattr__(name: str) -> object:
    if name in __all__:
        from importlib import import_module  # noqa: PLC0415

        return getattr(import_module("mlctl.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
