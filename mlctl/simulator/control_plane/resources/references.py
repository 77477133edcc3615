"""References in a body: resolved, and normalized to ARM ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mlctl import catalog, pointer
from mlctl.kinds import Kind
from mlctl.kinds.address import LATEST, Address, Reference, Scope
from mlctl.kinds.registry import ALL
from mlctl.pointer import Data
from mlctl.schema.text import with_article
from mlctl.service_errors import NotFound
from mlctl.simulator.control_plane.state.context import PutRequest
from mlctl.simulator.control_plane.state.errors import bad
from mlctl.simulator.control_plane.state.rows import registry_scope


def resolve(request: PutRequest, text: Data, kind: str) -> str:
    """Return the ARM id of the resource that `text` names; without a version, the newest.

    What the service brings along stays as written; a label of a registry becomes the version that
    it stands for, which is what Azure keeps (live tests of alchemy-run/alchemy, OnlineDeployment).

    Raises:
        ServiceError: it is not a reference, or nothing has that name (404).
    """
    reference = _parse(text, kind)
    if reference is None:
        raise bad(f"`{text}` is not the id of {with_article(kind)}.", "InvalidResourceId")
    if reference.address is None:
        return resolved(request, reference.text, kind)
    if reference.label not in (None, LATEST):
        return reference.text
    other_scope = (
        reference.scope if reference.scope and not _same(reference.scope, request.scope) else None
    )
    resource = request.find(reference.address, other_scope)
    curated = ALL[kind].content.curated
    if resource is None and curated and reference.address.name.startswith(curated):
        return reference.text  # the service takes it, whether it is there or not (as recorded)
    if resource is None:
        raise NotFound(
            f"{kind.capitalize()}NotFound",
            f"The {kind} `{reference.address}` that the request names "
            f"does not exist in workspace `{(other_scope or request.scope).workspace}`.",
        )
    if resource.state == "Deleting":
        raise NotFound(
            f"{kind.capitalize()}NotFound",
            f"The {kind} `{reference.address}` that the request names is being deleted.",
            status=404,
        )
    return resource.address.id(other_scope or request.scope)


def resolved(request: PutRequest, text: str, kind: str) -> str:
    """Replace the label in a registry's URI by its version; other texts are unchanged.

    What no registry holds or lists has one version: an assumption.
    """
    head, label, name = text.partition("/labels/")
    registry, _, asset = head.removeprefix("azureml://registries/").partition("/")
    if not label or not asset or name.casefold() != LATEST:
        return text
    address = Address(kind, asset.rpartition("/")[2])
    stored = request.find(address, registry_scope(registry))
    listed = catalog.registry_assets(registry, kind).get(address.name.casefold())
    version = stored.address.version if stored else listed.version if listed else 1
    return f"{head}/versions/{version}"


def references_of(own_scope: Scope, of: Kind, body: Mapping[str, Data]) -> Iterator[Address]:
    """Return the resources of the same workspace that a stored body references."""
    for at, kind in of.references:
        text = pointer.get(body, at)
        reference = _parse(text, kind) if text else None
        if (
            reference
            and reference.address
            and (reference.scope is None or _same(reference.scope, own_scope))
        ):
            yield reference.address


def _parse(text: Data, kind: str) -> Reference | None:
    if not isinstance(text, str):
        return None
    return Reference.parse(text if text.startswith("azureml:") else f"azureml:{text}", kind)


def _same(scope: Scope, other_scope: Scope) -> bool:
    return str(scope).casefold() == str(other_scope).casefold()
