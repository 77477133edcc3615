"""Compute the names that follow from a component's definition, as azure-ai-ml 1.35.2 does."""

from __future__ import annotations

import json
from collections.abc import Mapping

from mlctl.digests import sha256
from mlctl.pointer import Data

ANONYMOUS = "azureml_anonymous"  # the name of every anonymous component


def with_hash(body: Mapping[str, Data], *, anonymous: bool) -> dict[str, Data]:
    """Return a new body with the hash of the definition that the SDK adds to named components."""
    properties = dict(body["properties"])
    spec = properties["componentSpec"] = _add_defaults(properties["componentSpec"])
    if not anonymous and "jobs" not in spec:
        properties_without_hash = {
            **(properties.get("properties") or {}),
            "client_component_hash": "",
        }
        properties_without_hash["client_component_hash"] = _hash(spec, "version", "_source")
        properties["properties"] = properties_without_hash
    return {**body, "properties": properties}


def anonymous_version(body: Mapping[str, Data]) -> str:
    """Return the version of an anonymous component: a hash of its definition.

    Origin: `Component._get_anonymous_hash` and `PipelineComponent._get_anonymous_hash`.
    """
    return _hash(body["properties"]["componentSpec"], "name", "id", "version", "_source")


def _add_defaults(spec: Mapping[str, Data]) -> dict[str, Data]:
    """Return the definition with the one default that the SDK writes."""
    distribution = spec.get("distribution")
    if not isinstance(distribution, Mapping) or distribution.get("type") != "tensorflow":
        return dict(spec)
    return {**spec, "distribution": {"parameter_server_count": 0, **distribution}}


def _hash(spec: Mapping[str, Data], *omitted: str) -> str:
    """Origin: azure-ai-ml 1.35.2, `hash_dict`."""
    hashed = {key: entry for key, entry in spec.items() if key not in omitted}
    if isinstance(hashed.get("partition_keys"), str):
        hashed["partition_keys"] = json.loads(hashed["partition_keys"])
    text = json.dumps(hashed, sort_keys=True)
    from uuid import UUID  # noqa: PLC0415 - few files have an inline component

    return str(UUID(sha256(text)[:32]))
