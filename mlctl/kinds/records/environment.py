"""Environments."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl import schema
from mlctl.kinds.facts import ArmFacts, ContentFacts
from mlctl.kinds.kind import Kind
from mlctl.pointer import Data

_SCHEMA = "environment"


def _inferred(data: Mapping[str, Data]) -> bool:
    """Whether an image or build is an environment's: many other files have such a key."""
    if "conda_file" in data:
        return True
    build = data.get("build")
    has_one = "image" in data or (isinstance(build, dict) and "path" in build)
    return has_one and data.keys() <= schema.load(_SCHEMA)["properties"].keys()


KIND = Kind(
    name="environment",
    schema_name=_SCHEMA,
    collection="environments",
    versioned=True,
    inferred=_inferred,
    arm=ArmFacts(
        service_fields=(("properties", "environmentType"),),  # read-only in the REST reference
        unsent={("properties", "condaFile"): ""},  # recorded: environment-get
    ),
    content=ContentFacts(
        by_url=True,  # image builders need the URL of a folder
        anonymous_name="CliV2AnonymousEnvironment",
        curated="AzureML-",
    ),
)
