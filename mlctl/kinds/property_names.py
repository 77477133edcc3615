"""The fields that the service means by names of its own, where it refuses a write.

They are names of its program, not of its REST API: `ModelConfiguration.ModelReference` for
`properties.model` (recorded: card batch-deployment-put-400-no-model).
"""

from __future__ import annotations

import re

from mlctl.kinds.field import Field, Form

_AROUND = re.compile(r"(?:Reference|Configuration|Settings|Uri|Url|Id)$|\[\d*\]|[^A-Za-z0-9]")


def field_of(form: Form, name: str) -> Field | None:
    """The field that a property name means: the one whose own name its last part has.

    Words that say only what a value is (`Reference`, `Id`) do not count. Of fields of one name it
    is that in the object of the part before; None where no part is the name of a field.
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
