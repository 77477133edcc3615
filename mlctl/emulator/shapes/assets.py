"""Versions of assets, and the containers that hold all versions of a name, as recorded.

Keys have come with api-versions: provisioningState and stage with those of 2023; autoDeleteSetting
and intellectualProperty are of previews, until 2024-07-01-preview.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from mlctl import source
from mlctl.emulator.shapes.shape import (
    ResponseField,
    Rule,
    Shape,
    if_set,
    keys,
    omitted,
    otherwise,
    render,
    resource,
    section,
    since,
    state,
    stored,
    time,
    versions,
)
from mlctl.pointer import Data

_LABELLED = "2022-12"  # the first api-version with labels
_TELL_STAGE = since("2023-04-01", stored)


def _of_previews(rule: Rule) -> Rule:
    """A key of the previews from April 2023 to April 2024."""
    return versions(rule, preview="2023-04-01", end="2024-07")


SYSTEM_DATA: Shape = {
    "createdAt": time,
    "createdBy": stored,
    "createdByType": stored,
    "lastModifiedAt": time,
    "lastModifiedBy": stored,
    "lastModifiedByType": stored,
}


# By whom data was changed is shown once somebody has.
_OF_DATA: Shape = {**SYSTEM_DATA, "lastModifiedBy": if_set, "lastModifiedByType": if_set}


# Of their containers it is not.
_OF_DATA_CONTAINER: Shape = {
    **_OF_DATA,
    **keys(omitted, "lastModifiedBy", "lastModifiedByType"),
}


def _system_data_of_nobody(field: ResponseField) -> Data:
    system_data = render(SYSTEM_DATA, field.stored or {}, field.occasion)
    return {key: value for key, value in system_data.items() if key.endswith("At")}


def _staged_properties(shape: Shape, *, anonymous: str = "Development", archived: str = "") -> Rule:
    """The properties of an asset with a stage: `anonymous` and `archived` are its stages then."""

    def value(field: ResponseField) -> Data:
        stored: dict[str, Data] = dict(field.stored)
        stored.setdefault("stage", anonymous if stored.get("isAnonymous") else "Development")
        if stored.get("isArchived") and archived:
            stored["stage"] = archived
        return render(shape, stored, field.occasion, field.sent)

    return value


def _labels(field: ResponseField) -> Data:
    """The free properties of an environment: the service labels the newest version `latest`."""
    occasion, address = field.occasion, field.occasion.address
    properties = {
        key: value for key, value in (field.stored or {}).items() if key != "azureml.labels"
    }
    if address is None or occasion.api_version < _LABELLED:
        return properties
    newest = occasion.call.peek(address.at(None))
    is_named = newest is not None and not newest.body["properties"].get("isAnonymous")
    latest = is_named and newest is not None and newest.address.version == address.version
    return {**properties, "azureml.labels": "latest" if latest else ""}


def _of_data_properties(field: ResponseField) -> Data:
    """Null where none were sent; an empty map in lists (recorded: data-list-versions-2025)."""
    is_listed = field.occasion.call.request.path.endswith("/versions")
    return {} if field.stored is None and is_listed else field.stored


def _conda(field: ResponseField) -> Data:
    """A conda file as JSON text, with indentation; "" where there is none."""
    if not isinstance(field.stored, str) or not field.stored.strip():
        return ""
    document = source.plain(field.stored)
    return (
        json.dumps(document, indent=2, ensure_ascii=False)
        if isinstance(document, dict)
        else document
    )


_COMMON: Shape = {
    "description": stored,
    "tags": otherwise({}),
    "properties": otherwise({}),
    "isArchived": otherwise(default=False),
    "isAnonymous": otherwise(default=False),
    "autoDeleteSetting": _of_previews(stored),
}
_OWNED = {"intellectualProperty": _of_previews(stored)}
_STATE = {"provisioningState": versions(state, stable="2023-04-01", preview="2022-10-01")}


def _version(properties: Rule, system_data: Rule | None = None) -> Shape:
    return resource(properties, system_data or section(SYSTEM_DATA))


MODEL = _version(
    _staged_properties(
        {
            **_COMMON,
            "flavors": otherwise({}),
            **keys(stored, "modelType", "modelUri", "jobName"),
            **_STATE,
            "stage": _TELL_STAGE,
            **_OWNED,
        },
        archived="Archived",
    )
)
ENVIRONMENT = _version(
    _staged_properties(
        {
            **_COMMON,
            "properties": _labels,
            "environmentType": stored,
            "image": if_set,
            "condaFile": _conda,
            "osType": stored,
            "autoRebuild": versions(stored, stable="2022-10-01", preview="2022-12-01"),
            **_STATE,
            "stage": _TELL_STAGE,
            **_OWNED,
        },
        anonymous="Logged",
    )
)
CODE = _version(
    section(
        {
            **_COMMON,
            "codeUri": stored,
            **_STATE,
        }
    )
)
DATA = _version(
    section(
        {
            **_COMMON,
            "tags": stored,
            "properties": _of_data_properties,
            "dataUri": stored,
            "stage": _of_previews(stored),
            **_OWNED,
            "dataType": stored,
        }
    ),
    section(_OF_DATA),
)
COMPONENT = _version(
    _staged_properties(
        {**_COMMON, "componentSpec": stored, **_STATE, "stage": _of_previews(stored)},
        anonymous="Logged",
    )
)

_CONTAINER: Shape = {
    "description": stored,
    "tags": otherwise({}),
    "properties": otherwise({}),
    "isArchived": otherwise(default=False),
    "latestVersion": stored,
    "nextVersion": stored,
    **_STATE,
}
_DATA_CONTAINER: Shape = {
    **{key: rule for key, rule in _CONTAINER.items() if key != "provisioningState"},
    **keys(stored, "tags", "properties", "dataType"),
}
_DESCRIBED: Shape = {**_CONTAINER, "description": otherwise("")}
CONTAINERS: Mapping[str, Shape] = {
    "data": _version(section(_DATA_CONTAINER), section(_OF_DATA_CONTAINER)),
    "environment": _version(section(_DESCRIBED)),
    "component": _version(section(_DESCRIBED), _system_data_of_nobody),
}
LISTED_CONTAINERS: Mapping[str, Shape] = {
    **CONTAINERS,
    "component": _version(section(_DESCRIBED)),
}
USUAL_CONTAINER = _version(section(_CONTAINER))
ASSETS: Mapping[str, Shape] = {
    "model": MODEL,
    "environment": ENVIRONMENT,
    "code": CODE,
    "data": DATA,
    "component": COMPONENT,
}
