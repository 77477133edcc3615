"""Request bodies as JSON objects; their content is validated by the simulated cloud."""

from __future__ import annotations

import json

from mlctl.pointer import Data, check_depth
from mlctl.service_errors import Permanent


def read(body: bytes) -> dict[str, Data]:
    """The JSON object in a request body, with an object as `properties`; {} without a body.

    Raises:
        ServiceError: 400, it is something else, has NaN or a lone surrogate, or is too deep.
    """
    if not body.strip():
        return {}
    try:
        data = json.loads(body.decode())
        # What JSON cannot hold (NaN), and what UTF-8 cannot (a lone surrogate), fails here.
        json.dumps(data, ensure_ascii=False, allow_nan=False).encode()
        check_depth(data)
    except (ValueError, RecursionError) as error:
        raise _unreadable(str(error) or type(error).__name__) from None
    if not isinstance(data, dict):
        raise _unreadable("an object was expected")
    if not isinstance(data.get("properties") or {}, dict):
        raise _unreadable("`properties` must be an object")
    return data


def _unreadable(why: str) -> Permanent:
    text = f"The request content was invalid and could not be deserialized: '{why}'."
    return Permanent("InvalidRequestContent", text)
