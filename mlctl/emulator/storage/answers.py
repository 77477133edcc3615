"""The answers of the blob server: headers, parts of blobs, XML."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime
from xml.sax.saxutils import escape

from mlctl.emulator.http.messages import Response
from mlctl.emulator.requests.call import Call
from mlctl.emulator.storage import leases
from mlctl.pointer import Data
from mlctl.service_errors import Permanent, ServiceError


def error(refused: ServiceError) -> Response:
    """A refusal, in XML."""
    body = (
        '<?xml version="1.0" encoding="utf-8"?>'
        f"<Error><Code>{refused.code}</Code><Message>{escape(refused.message)}</Message></Error>"
    )
    headers = {"content-type": "application/xml", "x-ms-error-code": refused.code}
    return Response(refused.status, headers, body.encode())


def blob_headers(
    call: Call, moment: float, note: Mapping[str, Data] | None = None
) -> dict[str, str]:
    """The headers of every answer about a blob: etag, date and version."""
    etag = note["etag"] if note else '"0x0"'
    headers = {"etag": str(etag), "last-modified": _date(moment)}
    return {**headers, "x-ms-version": call.request.header("x-ms-version", "2022-11-02")}


def _date(moment: float) -> str:
    return format_datetime(datetime.fromtimestamp(moment, UTC), usegmt=True)


def select_range(call: Call, whole: Response) -> Response:
    """Return the part of a blob that a `Range` header requests."""
    size = len(whole.body)
    text = call.request.header("x-ms-range") or call.request.header("range")
    match = re.fullmatch(r"bytes=([0-9]+)-([0-9]*)", text)
    if not match:
        return whole
    first, last = _offset(match[1]), min(_offset(match[2] or str(size)), size - 1)
    if first >= size:
        raise Permanent("InvalidRange", "The range specified is invalid for this blob.", status=416)
    part = whole.body[first : last + 1]
    range_headers = {
        "content-length": str(len(part)),
        "content-range": f"bytes {first}-{last}/{size}",
    }
    return replace(whole, status=206, headers={**whole.headers, **range_headers}, body=part)


def _offset(digits: str) -> int:
    """A number of a `Range`; Python refuses to read very long ones."""
    return int(digits) if len(digits) < len(str(sys.maxsize)) else sys.maxsize


def entry(call: Call, name: str, note: Mapping[str, Data]) -> str:
    """A blob in a list of blobs."""
    meta = "".join(f"<{key}>{escape(value)}</{key}>" for key, value in note["meta"].items())
    lease_fields = {
        header.removeprefix("x-ms-").title().replace("-", ""): value
        for header, value in leases.headers(note, call.settings.now()).items()
    }
    lease = "".join(f"<{key}>{value}</{key}>" for key, value in lease_fields.items())
    return (
        f"<Blob><Name>{escape(name)}</Name><Properties>"
        f"<Last-Modified>{_date(note['modified'])}</Last-Modified><Etag>{escape(note['etag'])}</Etag>"
        f"<Content-Length>{note['size']}</Content-Length><BlobType>BlockBlob</BlobType>"
        f"<Content-Type>{escape(note['type'])}</Content-Type>{lease}</Properties>"
        f"<Metadata>{meta}</Metadata></Blob>"
    )
