"""Backends: what can read, put and delete resources (the protocols are in `ports`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mlctl.backends.ports.backend import Backend, ConnectionOptions
from mlctl.kinds.address import Scope
from mlctl.schema.text import nearest
from mlctl.service_errors import Permanent, ServiceError

_OWN = ("local", "azure")
LOCAL_DB = Path(".mlctl", "local.db")


def open_backend(
    name: str,
    scope: Scope,
    environment: Mapping[str, str],
    options: ConnectionOptions | None = None,
) -> tuple[Backend, str]:
    """The backend of that name, open on a workspace, and where it keeps its state (in parentheses).

    Others than `local` and `azure` are plug-ins: callables `(scope, environment)`.

    Raises:
        ServiceError: there is none of that name, or it cannot be opened.
    """
    check_name(name)
    if name == "local":
        from mlctl.backends.local.backend import LocalBackend

        path = environment.get("MLCTL_LOCAL_DB") or LOCAL_DB
        caller = environment.get("USER") or environment.get("LOGNAME") or ""
        return LocalBackend(path, scope, caller=caller), f" ({path})"
    if name == "azure":
        return _azure(scope, environment, options or ConnectionOptions()), ""
    return _of_plugin(name, scope, environment), ""


def check_name(name: str) -> None:
    """Check that there is a backend of a name.

    Raises:
        ServiceError: there is none.
    """
    if name in _OWN:
        return
    from mlctl import plugins

    names = [*_OWN, *plugins.names(plugins.BACKENDS)]
    if name not in names:
        near = nearest(name, names)
        hint = f"did you mean `{near}`?" if near else f"there are {', '.join(names)}"
        raise Permanent("UnknownBackend", f"there is no backend `{name}`; {hint}")


def _of_plugin(name: str, scope: Scope, environment: Mapping[str, str]) -> Backend:
    from mlctl import plugins

    try:
        plugin = plugins.load(plugins.BACKENDS, name)
        assert plugin is not None  # its name was checked
        try:
            backend: Backend = plugin.value(scope, environment)
        except ServiceError:
            raise
        except Exception as error:
            raise plugin.failed(error) from error
    except plugins.BrokenPlugin as error:
        raise Permanent("BrokenPlugin", f"{error}: upgrade the package or remove it") from None
    return backend


def _azure(scope: Scope, environment: Mapping[str, str], options: ConnectionOptions) -> Backend:
    try:
        from mlctl.backends.azure import connect
    except ModuleNotFoundError as error:
        message = f"the azure backend needs `{error.name}`: pip install 'mlctl-azure[azure]'"
        raise Permanent("MissingExtra", message) from None
    return connect(scope, environment, options)
