"""Models."""

from __future__ import annotations

from mlctl.kinds.facts import DESCRIPTION, TAGS, AzFacts, flag
from mlctl.kinds.kind import Kind

_TYPES = ("custom_model", "mlflow_model", "triton_model")

KIND = Kind(
    name="model",
    schema_name="model",
    collection="models",
    versioned=True,
    inferred=lambda data: str(data.get("type", "")).casefold() in _TYPES,
    az=AzFacts(
        table="Name Version Type Stage Archived=is_archived Created=creation_context.created_at",
        create_flags=(
            flag("--path -p", "path"),
            flag("--type -t", "type"),
            flag("--stage -s", "stage"),
            DESCRIPTION,
            TAGS,
            flag("--datastore", "datastore"),
        ),
        update_flags=(flag("--stage -s", "stage"),),
        list_flags=(flag("--stage -s", "stage", text="List only the models of one stage."),),
        limits_lists=True,
    ),
)
