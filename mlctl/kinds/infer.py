"""The kind of a document: what its `$schema` says, and what its content speaks for."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mlctl.kinds.kind import Kind
from mlctl.kinds.records.online_deployment import ONLINE_DEPLOYMENT
from mlctl.kinds.records.online_endpoint import ONLINE_ENDPOINT
from mlctl.kinds.registry import DOCUMENTS, kind_of_schema
from mlctl.pointer import Data

_OTHER_COMPUTES = ("computeinstance", "kubernetes", "virtualmachine", "synapsespark")
_ONLINE = {
    "instance_type",
    "instance_count",
    "scale_settings",
    "request_settings",
    "liveness_probe",
    "readiness_probe",
    "app_insights_enabled",
    "data_collector",
}  # a batch deployment has none at its top level
# How the names of Azure ML's other schemas end (learn.microsoft.com/azure/machine-learning/
# reference-yaml-overview): a document of one of them is never taken for something else.
_OTHER_SCHEMA = (
    r".*(?:job|component|compute|instance|endpoint|deployment|schedule|data|dataset|mltable|file"
    r"|blob|gen[12]|onelake|datastore|registry|workspace|hub|project|connection|featureset"
    r"|featurestore|featurestoreentity|subscription)"
)


def by_schema(data: Mapping[str, Data]) -> Kind | str | None:
    """What `$schema` says: a kind; the name of something else of Azure ML; None for nothing.

    A name that is no schema's is nothing: `az` never looks at the line.
    """
    url = data.get("$schema")
    kind = kind_of_schema(url) if isinstance(url, str) else None
    type_name = str(data.get("type", "")).casefold()
    if isinstance(kind, Kind):
        shared = str(url).strip().endswith("/compute.schema.json")  # of every sort of compute
        return type_name if shared and type_name in _OTHER_COMPUTES else kind
    return kind if kind and re.fullmatch(_OTHER_SCHEMA, kind, re.IGNORECASE) else None


def infer(data: Mapping[str, Data]) -> Kind | None:
    """The one kind that a document's fields speak for; None rather than a guess."""
    kind = str(data.get("type", "")).casefold()
    if data.keys() & {"channels", "dependencies"}:
        return None  # a conda file
    if kind == "kubernetes":
        return None  # an online deployment on a cluster of the user's own
    # Batch endpoints had `traffic` in the preview of 2021, with `type: batch`.
    online = data.keys() & _ONLINE or ("traffic" in data and kind != "batch")
    kinds = (ONLINE_ENDPOINT, ONLINE_DEPLOYMENT) if online else DOCUMENTS.values()
    return next((each_kind for each_kind in kinds if each_kind.inferred(data)), None)
