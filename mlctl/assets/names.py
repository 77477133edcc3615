"""The names of anonymous assets, which follow from their content.

They equal those of azure-ai-ml 1.35.2, so that one tool finds what the other has created.
"""

from __future__ import annotations

import json

from mlctl import pointer, source
from mlctl.dataclasses import replace
from mlctl.digests import sha256
from mlctl.kinds import component_hash
from mlctl.kinds.address import Address, Scope
from mlctl.kinds.component_hash import ANONYMOUS
from mlctl.kinds.field import Mutability
from mlctl.kinds.records.component import KIND as COMPONENT
from mlctl.kinds.resource import Resource
from mlctl.kinds.values import canonical_values, complete, encode
from mlctl.pointer import Data


def name_by_content(asset: Resource, scope: Scope) -> Resource:
    """Return an anonymous asset with the name and version of its content."""
    if asset.address.name and asset.address.version:
        return asset
    if asset.kind is COMPONENT:
        body = component_hash.with_hash(
            encode(complete(asset.values, asset.form), asset.form, scope), anonymous=True
        )
        name, version = ANONYMOUS, component_hash.anonymous_version(body)
    elif asset.kind.content.anonymous_name and not asset.address.name:
        name, version = asset.kind.content.anonymous_name, _environment_hash(asset)
    elif asset.uploads and not asset.address.name:  # azure-ai-ml 1.35.2: `Model.__init__`
        name, version = sha256(asset.uploads[0].digest), "1"
    else:
        values = complete(asset.values, asset.form)
        fixed = [field for field in asset.form.fields if field.mutability is Mutability.REPLACE]
        name, version = (
            asset.address.name or ANONYMOUS,
            sha256(json.dumps(canonical_values(values, fixed, scope), sort_keys=True)),
        )
    return replace(asset, address=Address(asset.kind.name, name, None, version))


def conda(value: Data) -> str:
    """Return a conda specification as the SDK sends it: with sorted keys."""
    return source.dump(_sorted(value))


def _environment_hash(asset: Resource) -> str:
    """Return an inline environment's version (`Environment._generate_anonymous_name_version`)."""
    content = pointer.nest(asset.values)
    context = pointer.get(content, ("build", "path"))
    if context is not None:
        uploaded = str(context).partition("/LocalUpload/")[2].partition("/")[0]
        parts = [uploaded or str(context), pointer.get(content, ("build", "dockerfile_path"), "")]
    else:
        routes, packages = content.get("inference_config"), content.get("conda_file")
        packages = conda(packages) if isinstance(packages, dict) else packages
        parts = [
            str(content.get("image")),
            source.dump(_sorted(routes)) if routes else "",
            packages,
        ]
    text = ""
    for part in filter(None, parts):
        text = text.join(sha256(part))  # sic: each hash has all previous ones between its letters
    return sha256(text)


def _sorted(value: Data) -> Data:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value, key=str)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
