"""Kinds that no document declares: what a deployment's local code and component files become."""

from __future__ import annotations

from mlctl.kinds.kind import Kind

_FIXED = {"x-ms-mutability": ["create", "read"]}

CODE = Kind(
    "code",
    "code",
    (),
    {
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
        "x-mlctl-wire-constants": {"/properties/isAnonymous": True},
    },
)
COMPONENT = Kind(
    "component",
    "component",
    (),
    {
        "title": "Component",
        "properties": {
            "spec": {  # not compared: the service knows it in another form; the version says it all
                "x-ms-mutability": ["create"],
                "x-mlctl-wire": "/properties/componentSpec",
                "x-mlctl-codec": "json",
            },
            "source_job": {**_FIXED, "x-mlctl-wire": "/properties/componentSpec/sourceJobId"},
        },
        "x-mlctl-wire-constants": {"/properties/isAnonymous": True},
    },
)
INTERNAL = {kind.name: kind for kind in (CODE, COMPONENT)}
