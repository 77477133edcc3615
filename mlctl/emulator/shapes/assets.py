"""What the service computes in answers about versions of assets and their containers."""

from __future__ import annotations

import json

from mlctl import source
from mlctl.emulator.shapes.shape import ResponseField, computed, named, render
from mlctl.pointer import Data

_LABELLED = "2022-12"  # the first api-version with labels


@computed
def _system_data_of_nobody(field: ResponseField) -> Data:
    system_data = render(named("system-data"), field.stored or {}, field.occasion)
    return {key: value for key, value in system_data.items() if key.endswith("At")}


@computed
def _model_properties(field: ResponseField) -> Data:
    return _staged("model-properties", field, archived="Archived")


@computed
def _environment_properties(field: ResponseField) -> Data:
    return _staged("environment-properties", field, anonymous="Logged")


@computed
def _component_properties(field: ResponseField) -> Data:
    return _staged("component-properties", field, anonymous="Logged")


def _staged(
    name: str, field: ResponseField, *, anonymous: str = "Development", archived: str = ""
) -> Data:
    """The properties of an asset with a stage: `anonymous` and `archived` are its stages then."""
    stored: dict[str, Data] = dict(field.stored)
    stored.setdefault("stage", anonymous if stored.get("isAnonymous") else "Development")
    if stored.get("isArchived") and archived:
        stored["stage"] = archived
    return render(named(name), stored, field.occasion, field.sent)


@computed
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


@computed
def _data_properties(field: ResponseField) -> Data:
    """Null where none were sent; an empty map in lists (recorded: data-list-versions-2025)."""
    is_listed = field.occasion.call.request.path.endswith("/versions")
    return {} if field.stored is None and is_listed else field.stored


@computed
def _conda(field: ResponseField) -> Data:
    """A conda file as JSON text, with indentation; "" where there is none."""
    if not isinstance(field.stored, str) or not field.stored.strip():
        return ""
    document = source.plain(field.stored)
    if not isinstance(document, dict):
        return document
    return json.dumps(document, indent=2, ensure_ascii=False)
