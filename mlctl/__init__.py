"""mlctl: declarative infrastructure as code for Azure Machine Learning.

The functions of `mlctl.api` are here too, imported when they are first asked for.
"""

from typing import TYPE_CHECKING

from mlctl.version import __version__ as __version__

if TYPE_CHECKING:
    from mlctl.api import *  # noqa: F403

# Before a folder of mlctl is imported, Python asks here for it: only these names are the library's.
_PUBLIC = frozenset(
    [
        "Address",
        "Backend",
        "CannotRename",
        "Diagnostic",
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
        "apply",
        "load",
        "open_workspace",
        "plan",
        "read_project",
        "simulate",
        "validate",
    ]
)


def __getattr__(name: str) -> object:
    if name in _PUBLIC:
        from importlib import import_module  # noqa: PLC0415

        return getattr(import_module("mlctl.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
