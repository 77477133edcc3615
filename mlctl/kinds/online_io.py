"""The two spellings of values of online endpoints and deployments (azure-ai-ml 1.35.2)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from mlctl.dataclasses import replace
from mlctl.durations import format_iso, parse_iso
from mlctl.kinds.address import Scope
from mlctl.kinds.field import Field
from mlctl.kinds.records.online_deployment import OWN_VARIABLES
from mlctl.pointer import Data

_MILLI = 1000


def encode_milliseconds(value: Data, _field: Field, _scope: Scope) -> Data:
    """Encode milliseconds as an ISO 8601 duration."""
    return format_iso(value / _MILLI)


def decode_milliseconds(value: Data, _field: Field, _scope: Scope) -> Data:
    """Decode milliseconds from an ISO 8601 duration; other values are returned unchanged."""
    try:
        # a tick is a ten-thousandth; without rounding PT2.042S would be 2041.9999999999998
        number = round(parse_iso(value) * _MILLI, 4) if isinstance(value, str) else value
    except ValueError:
        return value
    return int(number) if isinstance(number, float) and number.is_integer() else number


def canonical_variables(value: Data, _field: Field, _scope: Scope) -> Data:
    """Return environment variables as text, without those that the service adds."""
    variables = value or {}
    return {
        key: variable if isinstance(variable, str) else json.dumps(variable)
        for key, variable in variables.items()
        if key not in OWN_VARIABLES
    }


def shares(value: Data, _field: Field, _scope: Scope) -> Data:
    """Drop shares of 0, as azure-ai-ml 1.35.2 does; other values are returned unchanged."""
    if not isinstance(value, dict):
        return value
    return {name: part for name, part in value.items() if part != 0 or isinstance(part, bool)}


def canonical_shares(value: Data, field: Field, scope: Scope) -> Data:
    """Return shares with names in lower case."""
    return {name.casefold(): part for name, part in shares(value or {}, field, scope).items()}


Coded: TypeAlias = Callable[[Data], Data]

_ROLLING = ("Minute", "Hour", "Day")
_SILENT = {"rollingRate": "Hour"}  # the service's default, as documented
_ALL = 1  # share of the requests


def data_fields(field: Field, value: Data) -> Iterator[Field]:
    """Return the places in collections that name data assets, as fields."""
    for name, collection in _collections(value).items():
        if isinstance(collection, Mapping) and isinstance(collection.get("data"), str):
            at = (*field.at, "collections", name, "data")
            yield replace(field, at=at, wire=(), refers_to="data")


def needs_asset(data: Data) -> bool:
    """Whether a collection names no existing data asset."""
    return data is None or (isinstance(data, Mapping) and not data.get("data_id"))


def collected_asset(endpoint: str, deployment: str, collection: str, data: Data) -> dict[str, Data]:
    """Return the data asset of a collection that names none, or only describes it in part."""
    declared = data if isinstance(data, Mapping) else {}
    folder = f"{endpoint}/{deployment}/{collection}"
    return {
        "name": declared.get("name") or folder.replace("/", "-"),
        "version": str(declared.get("version") or "1"),
        "path": declared.get("path")
        or f"azureml://datastores/workspaceblobstore/paths/modelDataCollector/{folder}",
    }


def encode_collector(value: Data, _field: Field, _scope: Scope, *, code_reference: Coded) -> Data:
    """Encode to the wire; `code_reference` gives the id of a data asset."""
    if not isinstance(value, Mapping):
        return value
    rate, headers = value.get("sampling_rate"), value.get("request_logging")
    sent: dict[str, Data] = {
        "collections": {
            name: _known(
                {
                    "dataCollectionMode": "Enabled" if _is_on(collection) else "Disabled",
                    "samplingRate": rate,
                    "dataId": _data(collection, code_reference),
                    "clientId": collection.get("client_id"),
                }
            )
            for name, collection in _collections(value).items()
            if isinstance(collection, Mapping)
        },
        "rollingRate": _word(value.get("rolling_rate")),
        "requestLogging": {"captureHeaders": headers.get("capture_headers")}
        if isinstance(headers, Mapping)
        else None,
    }
    return _known(sent)


def decode_collector(value: Data, _field: Field, _scope: Scope, *, code_reference: Coded) -> Data:
    """Decode from the wire; `code_reference` gives the reference to a data asset."""
    if not isinstance(value, Mapping):
        return None
    collections = {
        name: collection
        for name, collection in (value.get("collections") or {}).items()
        if isinstance(collection, Mapping)
    }
    rates = [
        collection["samplingRate"]
        for collection in collections.values()
        if collection.get("samplingRate") is not None
    ]
    rolling, headers = value.get("rollingRate"), value.get("requestLogging")
    return _known(
        {
            "collections": {
                name: _known(
                    {
                        "enabled": str(_mode(collection) == "enabled").lower(),
                        "data": code_reference(collection.get("dataId")),
                        "client_id": collection.get("clientId"),
                    }
                )
                for name, collection in collections.items()
            },
            "rolling_rate": rolling.lower() if isinstance(rolling, str) else None,
            "sampling_rate": rates[0] if rates else None,
            "request_logging": {"capture_headers": headers.get("captureHeaders")}
            if isinstance(headers, Mapping) and headers.get("captureHeaders")
            else None,
        }
    )


def canonical_collector(sent: Data) -> Data:
    """Complete what is sent with the service's defaults."""
    if not isinstance(sent, Mapping):
        return sent
    collections = {
        name: {"samplingRate": _ALL, **collection}
        for name, collection in sent.get("collections", {}).items()
    }
    return {**_SILENT, **sent, "collections": collections}


def _collections(value: Data) -> Mapping[str, Data]:
    collections = value.get("collections") if isinstance(value, Mapping) else None
    return collections if isinstance(collections, Mapping) else {}


def _is_on(collection: Mapping[str, Data]) -> bool:
    return str(collection.get("enabled")).casefold() == "true"


def _mode(collection: Mapping[str, Data]) -> str:
    return str(collection.get("dataCollectionMode")).casefold()


def _data(collection: Mapping[str, Data], code_reference: Coded) -> Data:
    data = collection.get("data")
    return code_reference(data.get("data_id") if isinstance(data, Mapping) else data)


def _word(value: Data) -> Data:
    return next((word for word in _ROLLING if word.casefold() == str(value).casefold()), value)


def _known(of: Mapping[str, Data]) -> dict[str, Data]:
    return {key: value for key, value in of.items() if value is not None}
