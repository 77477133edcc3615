"""Values that the service does not let change: the content of versions, set properties."""

from __future__ import annotations

from collections.abc import Iterator

from mlctl import pointer
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.kinds import Resource
from mlctl.planning.model import Change

VERSION_TAKEN = Rule("MLC403", "immutable-version", Severity.ERROR)
ALTERED = Rule("MLC404", "altered-property", Severity.ERROR)


def immutable_version(change: Change, resource: Resource) -> Diagnostic:
    """New content for a version that exists."""
    fixed = [field for field in change.fields if field.forces_replacement]
    names = ", ".join(f"`{pointer.dotted(field.at)}`" for field in fixed)
    return Diagnostic(
        VERSION_TAKEN,
        f"{change.address} exists with another {names}; the content of a version never changes",
        resource.label(("version",)),
        hint="give the new content a new `version`",
        address=str(change.address),
    )


def altered(change: Change, resource: Resource) -> Iterator[Diagnostic]:
    """Add-only properties with another value than the one that is there."""
    for changed in change.fields:
        field = resource.form.field(changed.at[:-1])
        if field is not None and field.additive and changed.before is not None:
            yield Diagnostic(
                ALTERED,
                f"`{pointer.dotted(changed.at)}` is {changed.before!r} and cannot be altered",
                resource.label(changed.at),
                hint=f"write {changed.before!r}, or use another key",
                address=str(change.address),
            )
