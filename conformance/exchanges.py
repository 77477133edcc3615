"""Recordings of HTTP exchanges, read from the files that other programs write.

JSON lines of `mlctl emulator start --record`, HAR files (browsers, mitmproxy), and the recordings
of the tests of Azure's SDKs (`Entries`) and of Azure PowerShell.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from conformance.card import CardError
from mlctl import files
from mlctl.pointer import Data

_LARGEST = 200_000_000  # bytes of a recording


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer, as recorded. Bodies are data, or text where they are no JSON."""

    method: str
    url: str
    sent: Mapping[str, str]
    request: Data
    status: int
    headers: Mapping[str, str]
    response: Data


def exchanges(path: Path) -> list[Exchange]:
    """The exchanges of a recording, in their order.

    Raises:
        CardError: it cannot be read, or is in none of the forms that are known.
    """
    try:
        text = files.read(path, _LARGEST).decode("utf-8-sig")
    except OSError as error:
        raise CardError(f"{path}: {error.strerror or error}") from None
    except ValueError:
        raise CardError(f"{path}: it is no text") from None
    try:
        return list(_parsed(text))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        raise CardError(
            f"{path}: it is no recording: JSON lines of `mlctl emulator start --record`, a HAR"
            " file, or a recording of the tests of Azure's SDKs or of Azure PowerShell"
        ) from None


def _parsed(text: str) -> Iterator[Exchange]:
    try:
        data = json.loads(text)
    except ValueError:
        for line in text.splitlines():
            if line.strip():
                yield _from_line(json.loads(line))
        return
    if "method" in data:
        yield _from_line(data)
    elif "log" in data:
        yield from (_from_har(entry) for entry in data["log"]["entries"])
    elif "Entries" in data:
        yield from (_from_sdk(entry) for entry in data["Entries"])
    else:
        yield from (_from_powershell(entry) for entry in data.values())


def _from_line(line: Data) -> Exchange:
    query = "&".join(f"{name}={value}" for name, value in line["query"].items())
    host = line["headers"].get("host", "localhost")
    url = f"https://{host}{line['path']}" + (f"?{query}" if query else "")
    return Exchange(
        line["method"],
        url,
        line["headers"],
        line["body"],
        line["status"],
        line["response_headers"],
        line["response"],
    )


def _from_har(entry: Data) -> Exchange:
    request, response = entry["request"], entry["response"]
    content = response.get("content") or {}
    text = content.get("text")
    if text and content.get("encoding") == "base64":
        text = base64.b64decode(text).decode("utf-8", "replace")
    return Exchange(
        request["method"],
        request["url"],
        _pairs(request.get("headers") or ()),
        _json((request.get("postData") or {}).get("text")),
        int(response["status"]),
        _pairs(response.get("headers") or ()),
        _json(text),
    )


def _from_sdk(entry: Data) -> Exchange:
    return Exchange(
        entry["RequestMethod"],
        entry["RequestUri"],
        _flat(entry.get("RequestHeaders")),
        _json(entry.get("RequestBody")),
        int(entry["StatusCode"]),
        _flat(entry.get("ResponseHeaders")),
        _json(entry.get("ResponseBody")),
    )


def _from_powershell(entry: Data) -> Exchange:
    request, response = entry["Request"], entry["Response"]
    return Exchange(
        request["Method"],
        request["RequestUri"],
        _flat(request.get("Headers")) | _flat(request.get("ContentHeaders")),
        _json(request.get("Content")),
        int(response["StatusCode"]),
        _flat(response.get("Headers")) | _flat(response.get("ContentHeaders")),
        _json(response.get("Content")),
    )


def _pairs(headers: Iterable[Data]) -> dict[str, str]:
    return {str(header["name"]): str(header["value"]) for header in headers}


def _flat(headers: Data) -> dict[str, str]:
    """Headers whose values are texts, or lists of texts."""
    return {
        name: ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in (headers or {}).items()
    }


def _json(body: Data) -> Data:
    """The data of a body that may be JSON text; other text as it is, nothing as None."""
    if not isinstance(body, str):
        return body
    if not body:
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body
