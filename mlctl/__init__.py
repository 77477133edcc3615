"""mlctl: declarative infrastructure as code for Azure Machine Learning.

The functions of `mlctl.api` are here too, imported when they are first asked for.
"""

from typing import TYPE_CHECKING

from mlctl.version import __version__ as __version__

if TYPE_CHECKING:
    from mlctl.api import (
        Address as Address,
    )
    from mlctl.api import (
        Backend as Backend,
    )
    from mlctl.api import (
        Diagnostic as Diagnostic,
    )
    from mlctl.api import (
        InvalidFiles as InvalidFiles,
    )
    from mlctl.api import (
        LeaseHeld as LeaseHeld,
    )
    from mlctl.api import (
        LoadedConfig as LoadedConfig,
    )
    from mlctl.api import (
        Outcome as Outcome,
    )
    from mlctl.api import (
        Planned as Planned,
    )
    from mlctl.api import (
        Project as Project,
    )
    from mlctl.api import (
        ProjectError as ProjectError,
    )
    from mlctl.api import (
        Refused as Refused,
    )
    from mlctl.api import (
        Report as Report,
    )
    from mlctl.api import (
        ServiceError as ServiceError,
    )
    from mlctl.api import (
        SeveralProjects as SeveralProjects,
    )
    from mlctl.api import (
        UnknownEnvironment as UnknownEnvironment,
    )
    from mlctl.api import (
        VariableError as VariableError,
    )
    from mlctl.api import (
        apply as apply,
    )
    from mlctl.api import (
        load as load,
    )
    from mlctl.api import (
        open_workspace as open_workspace,
    )
    from mlctl.api import (
        plan as plan,
    )
    from mlctl.api import (
        read_project as read_project,
    )
    from mlctl.api import (
        simulate as simulate,
    )
    from mlctl.api import (
        validate as validate,
    )

# Before a folder of mlctl is imported, Python asks here for it: only these names are the library's.
_PUBLIC = (
    *("Address", "Backend", "Diagnostic", "InvalidFiles", "LeaseHeld", "LoadedConfig", "Outcome"),
    *("Planned", "Project", "ProjectError", "Refused", "Report", "ServiceError"),
    *("SeveralProjects", "UnknownEnvironment", "VariableError", "apply", "load", "open_workspace"),
    *("plan", "read_project", "simulate", "validate"),
)


def __getattr__(name: str) -> object:
    if name in _PUBLIC:
        from importlib import import_module  # noqa: PLC0415

        return getattr(import_module("mlctl.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
