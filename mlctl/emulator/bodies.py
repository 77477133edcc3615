"""Bytes to JSON objects, as strict as the service's own reader."""

from __future__ import annotations

import json
import math
from typing import NoReturn

from mlctl import pointer
from mlctl.emulator.http import ArmError
from mlctl.pointer import Data, Pointer

_PROPERTIES = ("properties",)
_INNER = ("properties", "properties")
# What must be an object where it is there at all, by kind.
_OBJECTS: dict[str, tuple[Pointer, ...]] = {
    "compute": (
        _INNER,
        (*_INNER, "scaleSettings"),
        (*_INNER, "subnet"),
        (*_INNER, "userAccountCredentials"),
    ),
    "batch-endpoint": (_INNER, ("properties", "defaults")),
    "batch-deployment": (
        _INNER,
        *(
            ("properties", name)
            for name in (
                "model",
                "codeConfiguration",
                "deploymentConfiguration",
                "retrySettings",
                "resources",
                "environmentVariables",
            )
        ),
        ("properties", "deploymentConfiguration", "componentId"),
    ),
}
_EVERYWHERE: tuple[Pointer, ...] = (
    _PROPERTIES,
    ("tags",),
    ("identity",),
    ("identity", "userAssignedIdentities"),
)


def read(body: bytes) -> dict[str, Data]:
    """The JSON object in a request body; none is an empty one.

    Raises:
        ArmError: 400, it is something else, or holds what UTF-8 or JSON cannot.
    """
    if not body.strip():
        return {}
    try:
        data = json.loads(body.decode(), parse_constant=_no_number, parse_float=_finite)
        json.dumps(data, ensure_ascii=False).encode()  # a lone surrogate is no text
    except (ValueError, RecursionError) as error:
        raise _unreadable(str(error) or type(error).__name__) from None
    if not isinstance(data, dict):
        raise _unreadable("an object was expected")
    return data


def check(kind: str, data: dict[str, Data]) -> None:
    """Hold a body to the shape of its kind, as far as others rely on it.

    Raises:
        ArmError: 400, something that must be an object is none.
    """
    for at in (*_EVERYWHERE, *_OBJECTS.get(kind, ())):
        held = pointer.get(data, at)
        if held is not None and not isinstance(held, dict):
            text = f"`{pointer.dotted(at)}` must be an object, not {_named(held)}."
            raise ArmError(400, "InvalidRequestContent", text, target=pointer.dotted(at))


def _named(value: Data) -> str:
    words = {bool: "a boolean", int: "a number", float: "a number", str: "a text", list: "a list"}
    return words[type(value)]


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large a number")
    return number


def _unreadable(why: str) -> ArmError:
    text = f"The request content was invalid and could not be deserialized: '{why}'."
    return ArmError(400, "InvalidRequestContent", text)
