"""Rules from the schema of a kind: defaults, required fields, and all of a plain resource."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mlctl import pointer
from mlctl.kinds import Kind, codec
from mlctl.kinds.address import kind_of
from mlctl.kinds.field import Form, Mutability
from mlctl.kinds.values import form_of_body
from mlctl.pointer import Data
from mlctl.schema.text import with_article
from mlctl.simulator.control_plane.resources import arm_body, references
from mlctl.simulator.control_plane.state.context import PutRequest
from mlctl.simulator.control_plane.state.errors import bad


def fill_in(request: PutRequest, top: dict[str, Data]) -> None:
    """Set fields that are missing in a body to the schema's defaults."""
    for field in form_of_body(kind_of(request.address), top, request.scope).writable:
        has_default = field.default is not None and not field.when
        if has_default and pointer.get(top, field.wire) is None:
            pointer.put(top, field.wire, codec.encode(field.default, field, request.scope))


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


def accept(request: PutRequest) -> dict[str, Data]:
    """Return the body to store for a PUT of a plain resource.

    Checks the name, required fields and references. Missing fields get the schema's
    defaults, create-only fields keep their values, and secrets are not stored.

    Raises:
        ServiceError: the request is not valid, or names a resource that does not exist (404).
    """
    address = request.address
    kind = kind_of(address)
    if request.old is None:
        pattern = kind.forms[-1].schema.get("properties", {}).get("name", {}).get("pattern", "")
        if not re.search(pattern, address.name):
            raise bad(f"The {kind.title} name `{address.name}` is invalid.", "InvalidResourceName")
    top, _ = arm_body.read_body(request, "provisioningState")
    form = form_of_body(kind, top, request.scope)
    for field in form.fields:
        if field.mutability is Mutability.READ_ONLY or field.secret:
            pointer.drop(top, field.wire)
    if kind.arm.tracked:
        arm_body.normalize_location(request, top)
    if "tags" in top:
        arm_body.normalize_tags(top)
    if "identity" in top:
        arm_body.normalize_identity(request, top)
    fill_in(request, top)
    require(kind, top)
    for at, target_kind in kind.references:
        text = pointer.get(top, at)
        if text:
            pointer.put(top, at, references.resolve(request, text, target_kind))
    fixed = [
        field.wire
        for field in form.writable
        if field.wire and field.mutability is Mutability.REPLACE
    ]
    arm_body.keep_immutable(request, top, fixed)
    return arm_body.stored_body(request, top)
