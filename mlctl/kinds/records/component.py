"""Components: what a pipeline in a local file becomes. No document declares one."""

from __future__ import annotations

from mlctl.kinds.kind import Kind
from mlctl.kinds.upload import UploadTarget

COMPONENT = Kind(
    name="component",
    schema_name="component",
    collection="components",
    versioned=True,
    az=False,
    content=UploadTarget.COMPONENT,
    given={
        "title": "Component",
        "properties": {
            "spec": {  # not compared: the service knows it in another form; the version says it all
                "x-ms-mutability": ["create"],
                "x-mlctl-wire": "/properties/componentSpec",
                "x-mlctl-codec": "json",
            },
            "source_job": {
                "x-ms-mutability": ["create", "read"],
                "x-mlctl-wire": "/properties/componentSpec/sourceJobId",
            },
        },
        "required": ["spec"],
        "x-mlctl-wire-constants": {"/properties/isAnonymous": True},
    },
)
