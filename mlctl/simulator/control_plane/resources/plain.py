"""Rules for kinds that have nothing but a schema."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mlctl import pointer
from mlctl.kinds import Kind
from mlctl.kinds.address import Address, kind_of
from mlctl.kinds.field import Mutability
from mlctl.kinds.values import form_of_body
from mlctl.pointer import Data
from mlctl.service_errors import NotFound
from mlctl.simulator.control_plane.resources import body as part
from mlctl.simulator.control_plane.resources import by_schema, references
from mlctl.simulator.control_plane.state.context import RequestContext, StoredResource
from mlctl.simulator.control_plane.state.errors import bad


def accept(
    context: RequestContext, address: Address, body: Mapping[str, Data], old: StoredResource | None
) -> dict[str, Data]:
    """The body to store for a PUT of `body` over `old`.

    Checks the name, required fields, references and the parent. Missing fields get the schema's
    defaults, create-only fields keep their values, and secrets are not stored.

    Raises:
        ServiceError: the request is not valid, or names a resource that does not exist (404).
    """
    kind = kind_of(address)
    if old is None:
        _check_name(kind, address.name)
    if address.up is not None and context.find(address.up, None) is None:
        raise NotFound("ParentResourceNotFound", f"`{address.up}` does not exist.")
    top, properties = part.read_body(body)
    properties.pop("provisioningState", None)
    form = form_of_body(kind, top, context.scope)
    for field in form.fields:
        if field.mutability is Mutability.READ_ONLY or field.secret:
            pointer.drop(top, field.wire)
    if kind.arm.tracked:
        part.normalize_location(context, top, old.body["location"] if old else context.location)
    if "tags" in top:
        part.normalize_tags(top)
    if "identity" in top:
        part.normalize_identity(context, address, top)
    by_schema.fill_in(context, kind, top)
    by_schema.require(kind, top)
    for at, target_kind in kind.references:
        text = pointer.get(top, at)
        if text:
            pointer.put(top, at, references.resolve(context, text, target_kind))
    fixed = [
        writable.wire for writable in form.writable if writable.mutability is Mutability.REPLACE
    ]
    part.keep_immutable(context, address, old, top, [wire_path for wire_path in fixed if wire_path])
    return part.stored_body(context, address, old, top)


def _check_name(kind: Kind, name: str) -> None:
    pattern = kind.forms[-1].schema.get("properties", {}).get("name", {}).get("pattern", "")
    if not re.search(pattern, name):
        raise bad(f"The {kind.title} name `{name}` is invalid.", "InvalidResourceName")
