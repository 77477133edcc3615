"""Backends read, write and delete resources; `ports` has the protocols."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from mlctl.backends.ports.backend import Backend, ConnectionOptions
from mlctl.catalog.prices import Price, PriceList, own_prices
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
    price_list: Callable[[], PriceList] = own_prices,
) -> tuple[Backend, str]:
    """Open the backend of that name on a workspace; return it, and its location in parentheses.

    Names other than `local` and `azure` are plug-ins: callables `(scope, environment)`. The nodes
    of a simulated cloud are billed by `price_list`.

    Raises:
        ServiceError: it does not exist, or cannot be opened.
    """
    check_name(name)
    if name == "local":
        from mlctl.backends.local.backend import LocalBackend

        path = environment.get("MLCTL_LOCAL_DB") or LOCAL_DB
        caller = environment.get("USER") or environment.get("LOGNAME") or ""
        backend = LocalBackend(path, scope, caller=caller, price_list=price_list)
        return backend, f" ({path})"
    if name == "azure":
        return _azure(scope, environment, options or ConnectionOptions()), ""
    return _of_plugin(name, scope, environment), ""


def check_name(name: str) -> None:
    """Check that a backend exists; raises ServiceError if it does not exist."""
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


def fetch_prices(
    url: str, sizes: Sequence[str], regions: Sequence[str], today: date
) -> dict[tuple[str, str], Price]:
    """Return current prices from the Azure Retail Prices API at `url`.

    Raises:
        ServiceError: it cannot be reached, or an answer cannot be read.
    """
    with _extra("reading prices"):
        from mlctl.backends.azure import prices
    return prices.fetch_prices(url, sizes, regions, today)


def fetch_spot_tables(
    environment: Mapping[str, str],
    options: ConnectionOptions,
    sizes: Sequence[str],
    regions: Sequence[str],
) -> dict[tuple[str, str], Price]:
    """Return the Spot prices and eviction rates of Azure Resource Graph, keyed in lower case.

    Raises:
        ServiceError: nobody is logged in, or there is no readable answer.
    """
    with _extra("reading prices"):
        from mlctl.backends.azure import manager, prices
    client, _ = manager(environment, options)
    return prices.fetch_spot_tables(client, sizes, regions)


def _azure(scope: Scope, environment: Mapping[str, str], options: ConnectionOptions) -> Backend:
    with _extra("the azure backend"):
        from mlctl.backends.azure import connect
    return connect(scope, environment, options)


@contextmanager
def _extra(user: str) -> Iterator[None]:
    """Report imports that need the extra `azure`."""
    try:
        yield
    except ModuleNotFoundError as error:
        message = f"{user} needs `{error.name}`: pip install 'mlctl-azure[azure]'"
        raise Permanent("MissingExtra", message) from None
