"""What a body names: found, and respelt as the ARM id that the service would return."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mlctl import pointer
from mlctl.kinds.address import LATEST, Address, Reference, Scope
from mlctl.pointer import Data, Pointer
from mlctl.simulator.control_plane.state.context import Ask
from mlctl.simulator.control_plane.state.errors import Refusal, bad

# Where a deployment names other resources, and of which kind.
NAMED: tuple[tuple[Pointer, str], ...] = (
    (("properties", "compute"), "compute"),
    (("properties", "model", "assetId"), "model"),
    (("properties", "environmentId"), "environment"),
    (("properties", "codeConfiguration", "codeId"), "code"),
    (("properties", "deploymentConfiguration", "componentId", "assetId"), "component"),
)


def settled(ask: Ask, text: Data, kind: str) -> str:
    """The full id of what `text` names; no version is the newest, registry URIs stay as written.

    Raises:
        Refusal: it is no reference, or nothing has that name (status 404).
    """
    named = _parse(text, kind)
    if named is None:
        raise bad(f"`{text}` is not the id of a {kind}.", "InvalidResourceId")
    if named.address is None or named.label not in (None, LATEST):
        return named.text
    other = named.scope if named.scope and not _same(named.scope, ask.scope) else None
    found = ask.find(named.address, other)
    if found is None:
        raise Refusal(
            f"{kind.capitalize()}NotFound",
            f"The {kind} `{named.address}` that the request names "
            f"does not exist in workspace `{(other or ask.scope).workspace}`.",
            status=404,
        )
    if found.state == "Deleting":
        raise Refusal(
            f"{kind.capitalize()}NotFound",
            f"The {kind} `{named.address}` that the request names is being deleted.",
            status=404,
        )
    return found.address.id(other or ask.scope)


def named(own: Scope, body: Mapping[str, Data]) -> Iterator[Address]:
    """The resources of the same workspace that a stored body names."""
    for at, kind in NAMED:
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
