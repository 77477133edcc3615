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

_ROLLING = {"minute": "Minute", "hour": "Hour", "day": "Day"}
_SILENT = {"rollingRate": "Hour"}  # the service's default, as documented
_ALL = 1  # share of the requests


def data_fields(field: Field, value: Data) -> Iterator[Field]:
    """Return the places in collections that name data assets, as fields."""
    for name, collection in _mappings(_collections(value)).items():
        if isinstance(collection.get("data"), str):
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
    rolling, headers = value.get("rolling_rate"), value.get("request_logging")
    logged = headers.get("capture_headers") if isinstance(headers, Mapping) else None

    def sent(collection: Mapping[str, Data]) -> dict[str, Data]:
        enabled, data = str(collection.get("enabled")).casefold() == "true", collection.get("data")
        return _known(
            dataCollectionMode="Enabled" if enabled else "Disabled",
            samplingRate=value.get("sampling_rate"),
            dataId=code_reference(data.get("data_id") if isinstance(data, Mapping) else data),
            clientId=collection.get("client_id"),
        )

    return _known(
        collections={name: sent(part) for name, part in _mappings(_collections(value)).items()},
        rollingRate=_ROLLING.get(str(rolling).casefold(), rolling),
        requestLogging={"captureHeaders": logged} if isinstance(headers, Mapping) else None,
    )


def decode_collector(value: Data, _field: Field, _scope: Scope, *, code_reference: Coded) -> Data:
    """Decode from the wire; `code_reference` gives the reference to a data asset."""
    if not isinstance(value, Mapping):
        return None
    collections = _mappings(value.get("collections") or {})
    rates = (collection.get("samplingRate") for collection in collections.values())
    rolling, headers = value.get("rollingRate"), value.get("requestLogging")
    logged = headers.get("captureHeaders") if isinstance(headers, Mapping) else None

    def decoded(collection: Mapping[str, Data]) -> dict[str, Data]:
        mode = str(collection.get("dataCollectionMode")).casefold()
        return _known(
            enabled=str(mode == "enabled").lower(),
            data=code_reference(collection.get("dataId")),
            client_id=collection.get("clientId"),
        )

    return _known(
        collections={name: decoded(part) for name, part in collections.items()},
        rolling_rate=rolling.lower() if isinstance(rolling, str) else None,
        sampling_rate=next((rate for rate in rates if rate is not None), None),
        request_logging={"capture_headers": logged} if logged else None,
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


def _mappings(of: Mapping[str, Data]) -> dict[str, Mapping[str, Data]]:
    return {name: entry for name, entry in of.items() if isinstance(entry, Mapping)}


def _known(**values: Data) -> dict[str, Data]:
    return {key: value for key, value in values.items() if value is not None}
