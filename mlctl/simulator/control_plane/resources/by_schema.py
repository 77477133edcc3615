"""Defaults and required fields of a body, from the schema of its kind."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl import pointer
from mlctl.kinds import Kind, codec
from mlctl.kinds.values import form_of_body
from mlctl.pointer import Data
from mlctl.schema.text import with_article
from mlctl.simulator.control_plane.state.context import RequestContext
from mlctl.simulator.control_plane.state.errors import bad


def fill_in(context: RequestContext, kind: Kind, top: dict[str, Data]) -> None:
    """Set fields that are missing in a body to the schema's defaults."""
    for field in form_of_body(kind, top, context.scope).writable:
        has_default = field.default is not None and not field.when
        if has_default and pointer.get(top, field.wire) is None:
            pointer.put(top, field.wire, codec.encode(field.default, field, context.scope))


def require(kind: Kind, top: Mapping[str, Data]) -> None:
    """Check that a body has the required fields of its kind.

    Raises:
        ServiceError: one is missing.
    """
    title = f"{kind.title} version" if kind.versioned else kind.title
    for choice in kind.needed:
        if not any(pointer.get(top, at) for at in choice):
            alternatives = " or ".join(f"`{at[-1]}`" for at in choice)
            raise bad(f"{with_article(title).capitalize()} needs {alternatives}.", "UserError")
