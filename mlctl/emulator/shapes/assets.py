"""Versions of assets, and the containers that hold all versions of a name, as recorded.

Keys have come with api-versions: provisioningState and stage with those of 2023; autoDeleteSetting
and intellectualProperty are of previews.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from mlctl import source
from mlctl.emulator.shapes.shape import (
    Place,
    Rule,
    Shape,
    held,
    if_set,
    omitted,
    otherwise,
    preview_since,
    section,
    since,
    state,
    tell,
    time,
)
from mlctl.pointer import Data

_STATES, _STAGES, _REBUILDS = "2022-12", "2023", "2022-10-01"  # the first api-versions with these
_DELETIONS = "2023-02"  # the first previews with settings of deletion and intellectual property
_TELL_STAGE = since(_STAGES, held)

SYSTEM_DATA: Shape = {
    "createdAt": time,
    "createdBy": held,
    "createdByType": held,
    "lastModifiedAt": time,
    "lastModifiedBy": held,
    "lastModifiedByType": held,
}


# By whom data was changed is told once somebody has.
_OF_DATA: Shape = {**SYSTEM_DATA, "lastModifiedBy": if_set, "lastModifiedByType": if_set}


# Of their containers it is not.
_OF_DATA_CONTAINER: Shape = {
    **_OF_DATA,
    **dict.fromkeys(("lastModifiedBy", "lastModifiedByType"), omitted),
}


def _system_data_of_nobody(place: Place) -> Data:
    system_data = tell(SYSTEM_DATA, place.stored or {}, place.occasion)
    return {key: value for key, value in system_data.items() if key.endswith("At")}


def _staged(shape: Shape, *, anonymous: str = "Development", archived: str = "") -> Rule:
    """The properties of an asset with a stage: what those are called that nobody has named, or
    that are archived."""

    def told(place: Place) -> Data:
        stored: dict[str, Data] = dict(place.stored)
        stored.setdefault("stage", anonymous if stored.get("isAnonymous") else "Development")
        if stored.get("isArchived") and archived:
            stored["stage"] = archived
        return tell(shape, stored, place.occasion, place.sent)

    return told


def _labels(place: Place) -> Data:
    """The free properties of an environment: the service labels the newest version `latest`."""
    occasion, address = place.occasion, place.occasion.address
    properties = {
        key: value for key, value in (place.stored or {}).items() if key != "azureml.labels"
    }
    if address is None or occasion.api_version < _STATES:
        return properties
    newest = occasion.call.peek(address.at(None))
    is_named = newest is not None and not newest.body["properties"].get("isAnonymous")
    latest = is_named and newest is not None and newest.address.version == address.version
    return {**properties, "azureml.labels": "latest" if latest else ""}


def _conda(place: Place) -> Data:
    """A conda file as JSON text, with indentation; "" where there is none."""
    if not isinstance(place.stored, str) or not place.stored.strip():
        return ""
    document = source.plain(place.stored)
    return (
        json.dumps(document, indent=2, ensure_ascii=False)
        if isinstance(document, dict)
        else document
    )


_COMMON: Shape = {
    "description": held,
    "tags": otherwise({}),
    "properties": otherwise({}),
    "isArchived": otherwise(default=False),
    "isAnonymous": otherwise(default=False),
    "autoDeleteSetting": preview_since(_DELETIONS, held),
}
_OWNED = {"intellectualProperty": preview_since(_DELETIONS, held)}
_STATE = {"provisioningState": since(_STATES, state)}


def _version(properties: Rule, system_data: Rule | None = None) -> Shape:
    return {
        "id": held,
        "name": held,
        "type": held,
        "properties": properties,
        "systemData": system_data or section(SYSTEM_DATA),
    }


MODEL = _version(
    _staged(
        {
            **_COMMON,
            "flavors": otherwise({}),
            "modelType": held,
            "modelUri": held,
            "jobName": held,
            **_STATE,
            "stage": _TELL_STAGE,
            **_OWNED,
        },
        archived="Archived",
    )
)
ENVIRONMENT = _version(
    _staged(
        {
            **_COMMON,
            "properties": _labels,
            "environmentType": held,
            "image": if_set,
            "condaFile": _conda,
            "osType": held,
            "autoRebuild": since(_REBUILDS, held),
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
            **{key: rule for key, rule in _COMMON.items() if key != "autoDeleteSetting"},
            "codeUri": held,
            **_STATE,
        }
    )
)
DATA = _version(
    section(
        {
            **_COMMON,
            "tags": held,
            "properties": held,
            "dataUri": held,
            "stage": preview_since(_DELETIONS, held),
            **_OWNED,
            "dataType": held,
        }
    ),
    section(_OF_DATA),
)
COMPONENT = _version(
    _staged({**_COMMON, "componentSpec": held, **_STATE, "stage": preview_since(_STAGES, held)})
)

_CONTAINER: Shape = {
    "description": held,
    "tags": otherwise({}),
    "properties": otherwise({}),
    "isArchived": otherwise(default=False),
    "latestVersion": held,
    "nextVersion": held,
    "provisioningState": state,
}
_DATA_CONTAINER: Shape = {
    **{key: rule for key, rule in _CONTAINER.items() if key != "provisioningState"},
    "tags": held,
    "properties": held,
    "dataType": held,
}
_DESCRIBED: Shape = {**_CONTAINER, "description": otherwise("")}
CONTAINERS: Mapping[str, Shape] = {
    "data": _version(section(_DATA_CONTAINER), section(_OF_DATA_CONTAINER)),
    "environment": _version(section(_DESCRIBED)),
    "component": _version(section(_DESCRIBED), _system_data_of_nobody),
}
USUAL_CONTAINER = _version(section(_CONTAINER))
ASSETS: Mapping[str, Shape] = {
    "model": MODEL,
    "environment": ENVIRONMENT,
    "code": CODE,
    "data": DATA,
    "component": COMPONENT,
}
