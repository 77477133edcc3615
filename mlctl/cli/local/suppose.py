"""`mlctl local suppose`: stand-ins for what lives in a real workspace."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.cli.local.cloud import opened
from mlctl.cli.shell import InvalidValue, Session, argument
from mlctl.kinds import Address, kind_of
from mlctl.pointer import Data

_MARK: dict[str, Data] = {"mlctl.supposed": "true"}
_VERSION = "1"  # the version if none is named
_PATH = "azureml://datastores/workspaceblobstore/paths/supposed"
_IMAGE = "mcr.microsoft.com/azureml/openmpi4.1.0-ubuntu22.04:latest"
_CLUSTER: dict[str, Data] = {
    "vmSize": "Standard_D4ds_v5",
    "scaleSettings": {"minNodeCount": 0, "maxNodeCount": 4},
}
_COMPONENT: dict[str, Data] = {
    "type": "command",
    "command": "true",
    "environment": "azureml://registries/azureml/environments/sklearn-1.5/labels/latest",
}
# A plain resource of each kind that others refer to, as Azure Resource Manager has it. For assets,
# the properties with their tags.
_ASSETS: Mapping[str, dict[str, Data]] = {
    "component": {"componentSpec": _COMPONENT},
    "data": {"dataType": "uri_folder", "dataUri": _PATH},
    "environment": {"image": _IMAGE},
    "model": {"modelType": "custom_model", "modelUri": _PATH},
}
_IDENTITY: dict[str, Data] = {"type": "SystemAssigned"}
_OTHERS: Mapping[str, dict[str, Data]] = {
    "batch-endpoint": {"identity": _IDENTITY, "properties": {"authMode": "AADToken"}},
    "compute": {"properties": {"computeType": "AmlCompute", "properties": _CLUSTER}},
    "datastore": {
        "properties": {
            "datastoreType": "AzureBlob",
            "accountName": "supposed",
            "containerName": "supposed",
        }
    },
    "online-endpoint": {"identity": _IDENTITY, "properties": {"authMode": "Key"}},
}


def suppose(
    session: Session,
    addresses: list[str] = argument(metavar="ADDRESS..."),
) -> None:
    """Create stand-ins for resources of a real workspace, so that files can be planned.

    Existing resources are not changed; the version is 1 unless given.
    """
    parsed = [_address(text) for text in addresses]
    with opened(session) as local:
        existing = local.read(parsed)
        for address in parsed:
            if address in existing:
                session.note(f"{address} already exists")
                continue
            local.put(address, _body(address, local.location)).wait()
            session.note(f"{address} is supposed")


def _address(text: str) -> Address:
    try:
        address = Address.parse(text)
    except ValueError as error:
        raise InvalidValue(f"argument ADDRESS: {error}") from None
    if address.kind in _ASSETS:
        return address.at(address.version or _VERSION)
    if address.kind not in _OTHERS:
        kinds = ", ".join(sorted((*_ASSETS, *_OTHERS)))
        raise InvalidValue(f"argument ADDRESS: only these can be supposed: {kinds}")
    return address


def _body(address: Address, region: str) -> dict[str, Data]:
    if address.kind in _OTHERS and not kind_of(address).arm.tracked:
        return {"properties": {**_OTHERS[address.kind]["properties"], "tags": _MARK}}
    if address.kind in _OTHERS:
        return {"location": region, "tags": _MARK, **_OTHERS[address.kind]}
    properties = _ASSETS[address.kind]
    if "componentSpec" in properties:
        names: dict[str, Data] = {"name": address.name, "version": address.version}
        properties = {"componentSpec": {**_COMPONENT, **names}}
    return {"properties": {**properties, "tags": _MARK}}
