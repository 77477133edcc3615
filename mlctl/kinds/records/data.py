"""Data assets: versioned names for files in storage."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl import schema
from mlctl.kinds.facts import ArmFacts
from mlctl.kinds.kind import Kind
from mlctl.pointer import Data

_SCHEMA = "data"
_TYPES = ("uri_file", "uri_folder", "mltable")


def _inferred(data: Mapping[str, Data]) -> bool:
    """Whether type and path are those of data: a job's input has them, too, among others."""
    properties = schema.load(_SCHEMA)["properties"].keys()
    typed = str(data.get("type", "")).casefold() in _TYPES
    return typed and "path" in data and data.keys() <= properties


KIND = Kind(
    name="data",
    schema_name=_SCHEMA,
    collection="data",
    versioned=True,
    inferred=_inferred,
    arm=ArmFacts(container_keys=("dataType",)),
)
