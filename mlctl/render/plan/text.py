"""Text for the values of a plan, and for the file lines that caused its changes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from mlctl.digests import sha256
from mlctl.kinds import Address, Reference, kind_of
from mlctl.kinds.resource import is_local
from mlctl.masking import MASK, masked
from mlctl.planning.model import Action, Change, FieldChange
from mlctl.pointer import Data
from mlctl.render.plan.tree import scalar
from mlctl.render.terminal.terminal import clean

# Terraform's signs.
SYMBOLS = {
    Action.NO_OP: " ",
    Action.CREATE: "+",
    Action.UPDATE: "~",
    Action.REPLACE: "-/+",
    Action.DELETE: "-",
}
VERBS = {
    Action.CREATE: "will be created",
    Action.UPDATE: "will be updated in-place",
    Action.REPLACE: "must be replaced",
    Action.DELETE: "will be destroyed",
    Action.NO_OP: "will not change",
}
_UPLOAD = re.compile(r".*/LocalUpload/(?P<digest>[0-9a-fA-F]{16,64})/(?P<name>[^/]+)/?")
_ABOVE = re.compile(
    r"(?:[ \t]*(?:#.*|---[ \t]*(?:#.*)?|%.*)?\r?\n)*"
)  # the pointer of a document's first key
_DIGEST = r"[0-9a-f]{64}|[0-9a-f]{32}"


def place(change: Change) -> str:
    """Format `train.yml:6`: the line of the first changed value, else of the resource."""
    line = source(change)
    return f"{line[0]}:{line[1]}" if line else ""


def source(change: Change) -> tuple[str, int] | None:
    """Return the file and the line (from 1) that caused the change."""
    resource = change.resource
    if resource is None:
        return None
    document = resource.document
    label = None
    if change.action in (Action.UPDATE, Action.REPLACE):
        label = next(
            (label_ for field in change.fields if (label_ := change.label_of(field))), None
        )
    elif (
        not resource.root
    ):  # a shortcut for the first line: most changes of a big plan are new resources
        above = _ABOVE.match(document.source.text, document.begin)
        return document.source.name, document.line + (above[0].count("\n") if above else 0) + 1
    span = (label or resource.label()).span
    return span.source.name, span.line + 1


def is_default(change: Change, field: FieldChange) -> bool:
    """Whether a field's value is a default that is not in the file."""
    if change.resource is None or field.at in change.resource.values:
        return False
    return field.at in change.values and field.at not in kind_of(change.address).plan.routes


def outdates(change: Change) -> bool:
    """Whether the change creates a new version because the newest one has other content."""
    resource = change.resource
    return (
        resource is not None
        and resource.owner is None
        and resource.kind.versioned
        and resource.address.version is None
        and change.address.version != "1"
    )


def content(change: Change) -> str | None:
    """For an asset from a local path: the path as written, and a short hash; else None."""
    resource = change.resource
    if resource is None or resource.owner is None:
        return None
    path = resource.get()
    return _with_hash(path, _digest_of(change)) if isinstance(path, str) else None


def local_content(
    change: Change, field: FieldChange, changes: Mapping[Address, Change]
) -> tuple[str | None, str | None]:
    """Describe the value before and after if it is local content; else None."""
    if change.resource is None:
        return None, None
    value = change.resource.get(*map(str, field.at))
    old = uploaded(field.before)
    if value == field.after or not isinstance(field.after, str):
        return old, None
    if isinstance(value, dict):
        digest = _digest(change, field.after, field, changes)
        return old, f"(inline, {_shorten(digest)})" if digest else "(inline)"
    if not is_local(value):
        return old, None
    return old, _with_hash(value, _digest(change, field.after, field, changes))


def masked_sides(field: FieldChange) -> tuple[Data, Data]:
    """Mask the values before and after, so that different secrets still look different."""
    name = field.at[-1]
    old = None if field.before is None else masked(field.before, name)
    new = None if field.after is None else masked(field.after, name)
    if old == new and field.before != field.after:
        sides = ((field.before, f"{MASK} (before)"), (field.after, f"{MASK} (after)"))
        old, new = (masked(value, name, mark) for value, mark in sides)
    return old, new


def uploaded(value: Data) -> str | None:
    """Describe the URI of uploaded content by its name and a short hash; else None."""
    match = _UPLOAD.fullmatch(value) if isinstance(value, str) else None
    return _with_hash(match["name"], match["digest"]) if match else None


def _digest(
    change: Change, value: str, field_change: FieldChange, changes: Mapping[Address, Change]
) -> str | None:
    """Return the hash of the local content that a value became."""
    upload = _UPLOAD.fullmatch(value)
    if upload:
        return upload["digest"]
    field = change.resource.form.field(field_change.at) if change.resource else None
    reference = Reference.parse(value, field.refers_to) if field and field.refers_to else None
    if reference is None:
        return sha256(value) if "\n" in value else None
    asset = changes.get(reference.address) if reference.address else None
    return _digest_of(asset) if asset else None


def _digest_of(asset: Change) -> str | None:
    digest = asset.values.get(("hash",), asset.address.version)
    return digest if isinstance(digest, str) and re.fullmatch(_DIGEST, digest) else None


def _with_hash(path: str, digest: str | None) -> str:
    return f"{scalar(path)} ({_shorten(digest)})" if digest else scalar(path)


def _shorten(digest: str) -> str:
    """Shorten a digest to `sha256:1a2b3c4d`."""
    name = {64: "sha256", 32: "md5"}.get(len(digest), "hash")
    return f"{name}:{digest[:8]}"


def orphans(addresses: Sequence[Address]) -> str:
    """Say `compute/old is no longer declared; --prune deletes it.`"""
    is_single = len(addresses) == 1
    return clean(
        f"{listed(some(addresses))} {'is' if is_single else 'are'} no longer declared;"
        f" `--prune` deletes {'it' if is_single else 'them'}."
    )


def some(addresses: Sequence[Address], limit: int = 3) -> list[str]:
    """Return the first of the addresses, and how many more there are."""
    names = [str(address) for address in addresses[:limit]]
    return names + ([f"{len(addresses) - limit} more"] if len(addresses) > limit else [])


def listed(names: list[str]) -> str:
    """Join the names as a person would list them."""
    return " and ".join(names) if len(names) < 3 else (f"{', '.join(names[:-1])} and {names[-1]}")  # noqa: PLR2004
