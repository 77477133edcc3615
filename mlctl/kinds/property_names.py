"""Find the fields that the service means by its internal property names in errors.

They are names of its program, not of its REST API: `ModelConfiguration.ModelReference` for
`properties.model` (recorded: card batch-deployment-put-400-no-model).
"""

from __future__ import annotations

import re

from mlctl.kinds.field import Field, Form

_AROUND = re.compile(r"(?:Reference|Configuration|Settings|Uri|Url|Id)$|\[\d*\]|[^A-Za-z0-9]")


def field_of(form: Form, name: str) -> Field | None:
    """Return the field whose own name is the last part of a property name.

    Words that only say what a value is (`Reference`, `Id`) are ignored. Among fields of one name,
    the one in the object named by the part before counts; None if no part is a field's name.
    """
    parts = [_bare(part) for part in name.split(".")]
    for end in range(len(parts), 0, -1):
        candidates = [
            field for field in form.writable if _bare(str(field.wire[-1])) == parts[end - 1]
        ]
        inside = [
            field
            for field in candidates
            if _bare("".join(map(str, field.wire[-2:-1]))) in parts[: end - 1]
        ]
        if candidates:
            return (inside or candidates)[0]
    return None


def _bare(part: str) -> str:
    return _AROUND.sub("", part).casefold()
