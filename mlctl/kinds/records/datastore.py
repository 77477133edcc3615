"""Datastores: names for storage, with the workspace's credentials."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.kinds.facts import ArmFacts, PlanFacts
from mlctl.kinds.kind import Kind
from mlctl.pointer import Data

_LAKES = ("azure_data_lake_gen1", "azure_data_lake_gen2", "one_lake")
_TYPES = ("azure_blob", "azure_file", *_LAKES)


def _container(row: Mapping[str, Data]) -> Data:
    names = ("container_name", "file_share_name", "filesystem", "store_name")
    return next((row[name] for name in names if name in row), row.get("one_lake_workspace_name"))


KIND = Kind(
    name="datastore",
    schema_name="datastore",
    collection="datastores",
    inferred=lambda data: str(data.get("type", "")).casefold() in _TYPES,
    arm=ArmFacts(
        # Recorded: datastore-list.
        own_names=(
            "workspaceblobstore",
            "workspaceworkingdirectory",
            "workspaceartifactstore",
            "workspacefilestore",
        ),
        patchable=(),
    ),
    plan=PlanFacts(loss="its files stay in storage, but `azureml://` paths to them stop working"),
    computed={"Container": _container},
)
