"""What error bodies of the service say besides a code and a message."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from mlctl.pointer import Data, get
from mlctl.service_errors import PropertyError


def objects_of(value: Data) -> list[Mapping[str, Data]]:
    """The objects of a list; none where it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def details(error: Mapping[str, Data]) -> Iterator[str]:
    """The further messages of an error, with their codes."""
    for detail in objects_of(error.get("details")):
        if detail.get("message") or detail.get("code"):
            code, message = detail.get("code"), str(detail.get("message") or "")
            yield f"({code}) {message}" if code else message
            yield from details(detail)


def inner_codes(error: Mapping[str, Data]) -> Iterator[str]:
    """The codes of an error's InnerError, the outermost first.

    Recorded: card component-container-get-404.
    """
    for info in objects_of(error.get("additionalInfo")):
        at = get(info, ("info", "value")) if info.get("type") == "InnerError" else None
        while isinstance(at, dict):
            yield str(at.get("code"))
            at = at.get("innerError")


def property_errors(message: str) -> tuple[str, tuple[PropertyError, ...]]:
    """A message without the JSON array in it, and what the array says of single properties.

    Recorded: card batch-deployment-put-400-no-model.
    """
    head, bracket, _ = message.partition("\n[")
    try:
        rows, _ = json.JSONDecoder().raw_decode(message, len(head) + 1) if bracket else ([], 0)
    except (ValueError, RecursionError):
        rows = []
    errors = tuple(
        PropertyError(str(row["PropertyName"]), str(row["ErrorMessage"]))
        for row in objects_of(rows)
        if {"PropertyName", "ErrorMessage"} <= row.keys()
    )
    return (head.removesuffix("\nErrors:"), errors) if errors else (message, ())
