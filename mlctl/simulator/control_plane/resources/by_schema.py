"""Rules from the schema of a kind: defaults, required fields, and all of a plain resource."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mlctl import pointer
from mlctl.kinds import Kind, codec
from mlctl.kinds.address import Address, kind_of
from mlctl.kinds.field import Form, Mutability
from mlctl.kinds.values import form_of_body
from mlctl.pointer import Data
from mlctl.schema.text import with_article
from mlctl.service_errors import NotFound
from mlctl.simulator.control_plane.resources import arm_body, references
from mlctl.simulator.control_plane.state.context import RequestContext, StoredResource
from mlctl.simulator.control_plane.state.errors import bad


def fill_in(context: RequestContext, kind: Kind, top: dict[str, Data]) -> None:
    """Set fields that are missing in a body to the schema's defaults."""
    for field in form_of_body(kind, top, context.scope).writable:
        has_default = field.default is not None and not field.when
        if has_default and pointer.get(top, field.wire) is None:
            pointer.put(top, field.wire, codec.encode(field.default, field, context.scope))


def require(kind: Kind, top: Mapping[str, Data], form: Form | None = None) -> None:
    """Check that a body has the required fields of its form, of the usual one unless given.

    Raises:
        ServiceError: one is missing.
    """
    title = f"{kind.title} version" if kind.versioned else kind.title
    for choice in (form or kind.forms[-1]).needed:
        if not any(pointer.get(top, at) for at in choice):
            alternatives = " or ".join(f"`{at[-1]}`" for at in choice)
            raise bad(f"{with_article(title).capitalize()} needs {alternatives}.", "UserError")


def accept(
    context: RequestContext, address: Address, body: Mapping[str, Data], old: StoredResource | None
) -> dict[str, Data]:
    """Return the body to store for a PUT of `body` over `old`.

    Checks the name, required fields, references and the parent. Missing fields get the schema's
    defaults, create-only fields keep their values, and secrets are not stored.

    Raises:
        ServiceError: the request is not valid, or names a resource that does not exist (404).
    """
    kind = kind_of(address)
    if old is None:
        pattern = kind.forms[-1].schema.get("properties", {}).get("name", {}).get("pattern", "")
        if not re.search(pattern, address.name):
            raise bad(f"The {kind.title} name `{address.name}` is invalid.", "InvalidResourceName")
    if address.up is not None and context.find(address.up, None) is None:
        raise NotFound("ParentResourceNotFound", f"`{address.up}` does not exist.")
    top, properties = arm_body.read_body(body)
    properties.pop("provisioningState", None)
    form = form_of_body(kind, top, context.scope)
    for field in form.fields:
        if field.mutability is Mutability.READ_ONLY or field.secret:
            pointer.drop(top, field.wire)
    if kind.arm.tracked:
        arm_body.normalize_location(context, top, old.body["location"] if old else context.location)
    if "tags" in top:
        arm_body.normalize_tags(top)
    if "identity" in top:
        arm_body.normalize_identity(context, address, top)
    fill_in(context, kind, top)
    require(kind, top)
    for at, target_kind in kind.references:
        text = pointer.get(top, at)
        if text:
            pointer.put(top, at, references.resolve(context, text, target_kind))
    fixed = [
        field.wire
        for field in form.writable
        if field.wire and field.mutability is Mutability.REPLACE
    ]
    arm_body.keep_immutable(context, address, old, top, fixed)
    return arm_body.stored_body(context, address, old, top)
