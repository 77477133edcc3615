"""Components: the steps that pipelines are made of."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl import schema
from mlctl.kinds.field import Form, read_forms
from mlctl.kinds.kind import Kind
from mlctl.kinds.upload import UploadTarget
from mlctl.pointer import Data

_SCHEMA = "component"
_FORMS = ("command", "pipeline", "parallel", "spark")
_SIGNING = "registries are outside of the workspace"


def _inferred(data: Mapping[str, Data]) -> bool:
    """Whether a command is that of a component: a job runs somewhere, and names what it reads."""
    known = schema.load(_SCHEMA)["$defs"]["command"]["properties"].keys()
    needed = {"name", "command", "environment"}
    inputs = data.get("inputs", {})
    typed = isinstance(inputs, dict) and all(
        isinstance(one, dict) and "type" in one and "path" not in one for one in inputs.values()
    )
    return needed <= data.keys() <= known and typed


COMPONENT = Kind(
    name="component",
    schema_name=_SCHEMA,
    collection="components",
    documents=("component", *(f"{form}Component" for form in _FORMS)),
    versioned=True,
    inferred=_inferred,
    content=UploadTarget.COMPONENT,
    default_version="azureml_default",  # azure-ai-ml 1.35.2, DEFAULT_COMPONENT_VERSION
    columns={
        "Name": ("name",),
        "Version": ("version",),
        "Type": ("type",),
        "Archived": ("is_archived",),
        "Created": ("creation_context", "created_at"),
    },
    needs_file=True,
    limits_lists=True,
    sample=("samples/components/train.yml", "train_model"),
    not_here={
        "create --skip-validation": "what az would refuse is refused before anything is sent",
        "prepare-for-sign": _SIGNING,
    },
)

# A definition as a whole, as a file of it becomes one.
WHOLE: Form = next(
    read_forms(
        {
            "title": "Component",
            "properties": {
                "spec": {  # not compared: the service knows it in another form; the version says it
                    "x-ms-mutability": ["create"],
                    "x-mlctl-wire": "/properties/componentSpec",
                    "x-mlctl-codec": "json",
                },
                "source_job": {
                    "x-ms-mutability": ["create", "read"],
                    "x-mlctl-wire": "/properties/componentSpec/sourceJobId",
                },
            },
            "x-mlctl-wire-constants": {"/properties/isAnonymous": True},
        }
    )
)
