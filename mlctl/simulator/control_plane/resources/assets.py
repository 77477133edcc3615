"""Rules for versioned assets: models, environments, components, code, data."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mlctl import catalog
from mlctl.kinds import datastore_uri
from mlctl.kinds.address import Address, kind_of
from mlctl.kinds.component_hash import ANONYMOUS
from mlctl.pointer import Data
from mlctl.service_errors import Permanent, ServiceError
from mlctl.simulator.control_plane.resources import arm_body, by_schema
from mlctl.simulator.control_plane.resources.references import resolved
from mlctl.simulator.control_plane.state.context import PutRequest
from mlctl.simulator.control_plane.state.errors import bad, conflict

# REST: name ^[a-zA-Z0-9][a-zA-Z0-9\-_.]{0,254}$
_NAME = r"[a-zA-Z0-9][a-zA-Z0-9\-_.]{0,254}"
_READ_ONLY = ("provisioningState",)
_MAY_CHANGE = frozenset(
    {"description", "tags", "properties", "stage", "isArchived", "autoDeleteSetting"}
)
_WITHOUT_MAPS = ("data",)  # tags and properties are null where none were sent
_CHANGED_BY_NOBODY = ("data",)  # as long as nobody has changed it
_KEPT = ("codeUri",)
# How groups are spelt in the paths of datastores that are kept (recorded: model-put-create,
# data-put-create-short-uri).
_RESPELLED = {"modelUri": "resourceGroups", "dataUri": "resourcegroups"}
# Fields that the service sets, beyond the defaults of the schemas.
ADDED: Mapping[str, Mapping[str, Data]] = {
    "model": {"flavors": {}},
    "environment": {"environmentType": "UserCreated", "autoRebuild": "Disabled"},
}


def accept(request: PutRequest) -> dict[str, Data]:
    """Return the body to store for a PUT of an asset version.

    Raises:
        ServiceError: the request is not valid; 409 if the version exists with other content.
    """
    address, old = request.address, request.old
    if address.version is None:
        raise bad(f"`{address}` has no version.", "UserError")
    if old is None and not re.fullmatch(_NAME, address.name):
        raise bad(
            f"The name `{address.name}` is invalid: up to 255 letters, digits, `-`, `_` and `.`, "
            "starting with a letter or digit.",
            "UserError",
        )
    top, properties = arm_body.read_body(request, *_READ_ONLY)
    by_schema.fill_in(request, top)
    _fill_in(address, properties)
    _spell(request, properties)
    _keep_content(request, properties)
    by_schema.require(kind_of(address), top)
    top["properties"] = dict(sorted(properties.items()))
    body = arm_body.stored_body(request, top)
    if old is None and address.kind in _CHANGED_BY_NOBODY:
        for key in ("lastModifiedBy", "lastModifiedByType"):
            del body["systemData"][key]
    return body


def _fill_in(address: Address, properties: dict[str, Data]) -> None:
    for name, value in ADDED.get(address.kind, {}).items():
        properties.setdefault(name, value)
    for name in ("isAnonymous", "isArchived"):
        properties[name] = bool(properties.get(name, False))
    if address.name == ANONYMOUS:
        properties["isAnonymous"] = True
    for name in ("tags", "properties"):
        if name in properties or address.kind not in _WITHOUT_MAPS:
            properties[name] = arm_body.text_map(properties, name)


def _spell(request: PutRequest, properties: dict[str, Data]) -> None:
    """Respell what the service stores in another form than it was sent."""
    for name, groups in _RESPELLED.items():
        if isinstance(properties.get(name), str):
            properties[name] = datastore_uri.long(properties[name], request.scope, groups)
    spec = properties.get(_SPEC)
    if spec is not None:
        properties[_SPEC] = _normalize_spec(request, spec)


def _keep_content(request: PutRequest, properties: dict[str, Data]) -> None:
    """Check that the content of a version does not change; what a PUT leaves out stays.

    Another `codeUri` is no error: the old one stays (recorded: code-put-again-other-uri).
    """
    if request.old is None:
        return
    stored: Mapping[str, Data] = request.old.body["properties"]
    if _SPEC in stored:
        _refuse_change_of_spec(request.address, stored[_SPEC], properties.get(_SPEC))
        return
    for name in _KEPT:
        if name in stored:
            properties[name] = stored[name]
    fixed = [
        ("properties", name) for name in {*stored, *properties} - _MAY_CHANGE - set(_READ_ONLY)
    ]
    try:
        arm_body.keep_immutable(request, {"properties": properties}, sorted(fixed))
    except ServiceError as refusal:
        raise conflict(f"{refusal.message} Register another version instead.") from None


_SPEC = "componentSpec"  # where it is, of the properties of a component
_DROPPED = ("_source",)
_CURATED = "azureml://registries/azureml/environments"
_SHORT = r"azureml:(?P<name>[^/:@]+)(?::(?P<version>[^/:]+)|@latest)"
_OF_VERSION = ("name", "version", "display_name", "description", "tags")  # a PUT may change these


def _normalize_spec(request: PutRequest, spec: Data) -> Data:
    """A spec with the name and version of its address, values as texts, and what is added to it
    (recorded: component-put-create).

    An anonymous component keeps the name and version of its spec; its steps are known by that name
    (test_anonymous_registration_from_load_component of azure-sdk-for-python). An environment that
    is not in the workspace is one of the registry of Azure Machine Learning, whose label stands for
    a version; the type of instances is dropped (recorded: component-put-anonymous-instance-type).
    """
    address = request.address
    if not isinstance(spec, Mapping):
        return spec
    fields = {key: value for key, value in spec.items() if key not in _DROPPED}
    identity = {"name": address.name, "version": address.version}
    out = (
        {**identity, **_texts(fields)}
        if address.name == ANONYMOUS
        else {**_texts(fields), **identity}
    )
    short = re.fullmatch(_SHORT, str(out.get("environment", "")))
    if short is not None:
        reference = Address("environment", short["name"], version=short["version"])
        if request.find(reference, None) is None:
            listed = catalog.registry_assets("azureml", reference.kind).get(
                reference.name.casefold()
            )
            version = reference.version or (listed.version if listed else "1")
            out["environment"] = f"{_CURATED}/{reference.name}/versions/{version}"
    elif isinstance(out.get("environment"), str):
        out["environment"] = resolved(request, out["environment"], "environment")
    resources = out.get("resources") or {}
    if out.get("type") == "command" and isinstance(resources, dict):
        settings = {key: value for key, value in resources.items() if key != "instance_type"}
        out["resources"] = {"instance_count": "1", **settings}
    return out


def _refuse_change_of_spec(address: Address, was: Data, now: Data) -> None:
    """Refuse a change of a version, which is immutable."""
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
