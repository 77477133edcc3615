"""The kind of a document: what its `$schema` says, and what its content speaks for."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mlctl.kinds import DOCUMENTS, Kind, kind_of_schema
from mlctl.pointer import Data

_MODEL_TYPES = ("custom_model", "mlflow_model", "triton_model")
_JOB_KEYS = {"compute", "experiment_name", "queue_settings", "limits"}  # a component has none
_OTHER_COMPUTES = ("computeinstance", "kubernetes", "virtualmachine", "synapsespark")
_CLUSTER = {"size", "min_instances", "max_instances", "idle_time_before_scale_down"}
_ONLINE = {
    *("instance_type", "instance_count", "scale_settings", "request_settings"),
    *("liveness_probe", "readiness_probe", "app_insights_enabled"),
}  # a batch deployment has none at its top level
# How the names of Azure ML's other schemas end (learn.microsoft.com/azure/machine-learning/
# reference-yaml-overview): a document of one of them is never taken for something else.
_OTHER_SCHEMA = re.compile(
    r".*(?:job|component|compute|instance|endpoint|deployment|schedule|data|dataset|mltable|file"
    r"|blob|gen[12]|onelake|datastore|registry|workspace|hub|project|connection|featureset"
    r"|featurestore|featurestoreentity|subscription)",
    re.IGNORECASE,
)


def by_schema(data: Mapping[str, Data]) -> Kind | str | None:
    """What `$schema` says: a kind; the name of something else of Azure ML; None for nothing.

    A name that is no schema's is nothing: `az` never looks at the line.
    """
    given = data.get("$schema")
    named = kind_of_schema(given) if isinstance(given, str) else None
    other = str(data.get("type", "")).casefold()
    if isinstance(named, Kind):
        shared = str(given).strip().endswith("/compute.schema.json")  # of every sort of compute
        return other if shared and other in _OTHER_COMPUTES else named
    return named if named and _OTHER_SCHEMA.fullmatch(named) else None


def infer(data: Mapping[str, Data]) -> Kind | None:
    """The one kind that a document's fields speak for; None rather than a guess."""
    kind = str(data.get("type", "")).casefold()
    defaults = data.get("defaults")
    if data.keys() & {"channels", "dependencies", "jobs"}:
        return None  # a conda file; a pipeline
    if kind in ("managed", "kubernetes") or data.keys() & _ONLINE:
        return None  # an online endpoint, or its deployment
    if "traffic" in data and kind != "batch":
        return None  # an online endpoint; batch endpoints had it in the preview of 2021
    tells = {
        "compute": kind == "amlcompute" or (not kind and len(data.keys() & _CLUSTER) > 1),
        "batch-deployment": "endpoint_name" in data or (kind == "pipeline" and "component" in data),
        "model": kind in _MODEL_TYPES,
        "environment": "conda_file" in data or _is_environment(data),
        "batch-endpoint": str(data.get("auth_mode", "")).replace("_", "").casefold() == "aadtoken"
        or (isinstance(defaults, dict) and "deployment_name" in defaults),
        "batch-pool": "vm_count" in data and "swagger_url" in data,
        "job": "command" in data and bool(data.keys() & _JOB_KEYS),
    }
    return next((DOCUMENTS[name] for name, told in tells.items() if told), None)


def _is_environment(data: Mapping[str, Data]) -> bool:
    """Whether an image or a build is that of an environment: many other files have such a key."""
    build = data.get("build")
    has_one = "image" in data or (isinstance(build, dict) and "path" in build)
    return has_one and data.keys() <= DOCUMENTS["environment"].schema["properties"].keys()
