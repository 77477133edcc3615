"""The spec of a component as the service keeps it (recorded: component-put-create)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mlctl.kinds.address import Address
from mlctl.kinds.component_hash import ANONYMOUS
from mlctl.pointer import Data
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane.state.context import RequestContext

KEY = "componentSpec"  # where it is, of the properties of a component

_DROPPED = ("_source",)
_SHORT = re.compile(r"azureml:([^/:@]+):([^/:]+)")
_OF_VERSION = ("name", "version", "display_name", "description", "tags")  # a PUT may change these


def normalize(context: RequestContext, address: Address, spec: Data) -> Data:
    """A spec with the name and version of its address, values as texts, and what is added to it.

    An anonymous component keeps the name and version of its spec; its steps are known by that name
    (test_anonymous_registration_from_load_component of azure-sdk-for-python). An environment that
    is not in the workspace is one of the registry of Azure Machine Learning.
    """
    if not isinstance(spec, Mapping):
        return spec
    fields = {key: value for key, value in spec.items() if key not in _DROPPED}
    identity = {"name": address.name, "version": address.version}
    out = (
        {**identity, **_texts(fields)}
        if address.name == ANONYMOUS
        else {**_texts(fields), **identity}
    )
    short = _SHORT.fullmatch(str(out.get("environment", "")))
    if (
        short is not None
        and context.find(Address("environment", short[1], version=short[2]), None) is None
    ):
        name, version = short.groups()
        out["environment"] = f"azureml://registries/azureml/environments/{name}/versions/{version}"
    if out.get("type") == "command":
        out["resources"] = {"instance_count": "1", **(out.get("resources") or {})}
    return out


def refuse_change(address: Address, was: Data, now: Data) -> None:
    """A version is immutable.

    Raises:
        ServiceError: 400, another content of a version that is there (component-put-400-immutable).
    """
    if not isinstance(was, Mapping) or not isinstance(now, Mapping):
        return
    for key in sorted({*was, *now} - {*_OF_VERSION}):
        if was.get(key) != now.get(key):
            why = f'Failed to update component {address.name} since field "{key}" is immutable'
            inner = ("BadArgument", "ArgumentInvalid", "UpdateComponentFailed")
            raise Permanent("UserError", f"{why}, try specifying a new version.", inner=inner)


def _texts(data: Data) -> Data:
    if isinstance(data, Mapping):
        return {key: _texts(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_texts(value) for value in data]
    return str(data) if isinstance(data, bool | int | float) else data
