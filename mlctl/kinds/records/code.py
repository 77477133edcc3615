"""Code assets, made from local folders; no document declares one."""

from __future__ import annotations

from mlctl.kinds.facts import ContentFacts, UploadTarget
from mlctl.kinds.kind import Kind

_FIXED = {"x-ms-mutability": ["create", "read"]}

KIND = Kind(
    name="code",
    schema_name="code",
    collection="codes",
    versioned=True,
    inline_schema={
        "title": "Code",
        "properties": {
            "hash": {**_FIXED, "x-mlctl-wire": "/properties/properties/hash_sha256"},
            "hash_version": {
                **_FIXED,
                "x-mlctl-wire": "/properties/properties/hash_version",
                "x-mlctl-codec": "text",
            },
            "uri": {"x-mlctl-wire": "/properties/codeUri", "x-ms-mutability": ["create"]},
        },
        "required": ["uri"],
        "x-mlctl-wire-constants": {"/properties/isAnonymous": True},
    },
    content=ContentFacts(target=UploadTarget.CODE),
)
