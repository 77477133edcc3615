"""What a body names: found, and respelt as the ARM id that the service would return."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mlctl import pointer
from mlctl.kinds import Kind
from mlctl.kinds.address import LATEST, Address, Reference, Scope
from mlctl.pointer import Data
from mlctl.schema.text import with_article
from mlctl.service_errors import NotFound
from mlctl.simulator.control_plane.state.context import RequestContext
from mlctl.simulator.control_plane.state.errors import bad


def resolve(context: RequestContext, text: Data, kind: str) -> str:
    """The full id of what `text` names; no version is the newest, registry URIs stay as written.

    Raises:
        ServiceError: it is no reference, or nothing has that name (status 404).
    """
    references_of = _parse(text, kind)
    if references_of is None:
        raise bad(f"`{text}` is not the id of {with_article(kind)}.", "InvalidResourceId")
    if references_of.address is None or references_of.label not in (None, LATEST):
        return references_of.text
    other = (
        references_of.scope
        if references_of.scope and not _same(references_of.scope, context.scope)
        else None
    )
    found = context.find(references_of.address, other)
    if found is None:
        raise NotFound(
            f"{kind.capitalize()}NotFound",
            f"The {kind} `{references_of.address}` that the request names "
            f"does not exist in workspace `{(other or context.scope).workspace}`.",
        )
    if found.state == "Deleting":
        raise NotFound(
            f"{kind.capitalize()}NotFound",
            f"The {kind} `{references_of.address}` that the request names is being deleted.",
            status=404,
        )
    return found.address.id(other or context.scope)


def references_of(own: Scope, of: Kind, body: Mapping[str, Data]) -> Iterator[Address]:
    """The resources of the same workspace that a stored body of a kind names."""
    for at, kind in of.references:
        text = pointer.get(body, at)
        found = _parse(text, kind) if text else None
        if found and found.address and (found.scope is None or _same(found.scope, own)):
            yield found.address


def _parse(text: Data, kind: str) -> Reference | None:
    if not isinstance(text, str):
        return None
    return Reference.parse(text if text.startswith("azureml:") else f"azureml:{text}", kind)


def _same(one: Scope, other: Scope) -> bool:
    return str(one).casefold() == str(other).casefold()
