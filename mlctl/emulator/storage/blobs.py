"""The blob server behind uploads and leases: as much of Azure Storage as the SDK needs for them.

`https://HOST/blob/{account}/{container}/{name}`; an account is a folder, `.blob.core.windows.net`
at its end is dropped.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from urllib.parse import urlencode
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from mlctl.dataclasses import replace
from mlctl.emulator.http.messages import Response
from mlctl.emulator.requests.call import Call
from mlctl.emulator.requests.settings import EmulatorSettings
from mlctl.emulator.storage import leases
from mlctl.pointer import Data
from mlctl.service_errors import NotFound, Permanent, ServiceError
from mlctl.simulator.control_plane.state.blob_store import ItemKind, StoredItem


def xml_error(refused: ServiceError) -> Response:
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


def list_entry(call: Call, name: str, note: Mapping[str, Data]) -> str:
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


ROOT = "blob"
_META = "x-ms-meta-"
_DOMAIN = re.compile(r"\.(blob|file|dfs)\.[^/]*$")
_PAGE = 5000


def sas(settings: EmulatorSettings) -> str:
    """A shared access signature for everything stored."""
    signed = {"sv": "2022-11-02", "sr": "c", "sp": "racwdl", "se": "2099-12-31T00:00:00Z"}
    return urlencode({**signed, "sig": account_key(settings)})


def account_sas(settings: EmulatorSettings) -> str:
    """Return the same, as the service gives it for an account: with the question mark."""
    end = {"se": "2099-12-31T00:00:00Z", "srt": "co", "ss": "bf", "sp": "rcuwdl"}
    return "?" + urlencode({"sv": "2022-11-02", "sig": account_key(settings), **end})


def write_blob(call: Call, container: str, name: str, content: bytes) -> None:
    """Write a blob; `container` is `ACCOUNT/CONTAINER`."""
    note = _note(call, content, "application/octet-stream", {})
    call.blob_store.put(ItemKind.BLOB, f"{container}/{name}", note, content)


def handle(call: Call) -> Response:
    """Any request for a container or a blob; errors are in XML, as Azure Storage's are."""
    try:
        authorize(call)
        return _dispatch(call)
    except ServiceError as error:
        return xml_error(error)


def authorize(call: Call) -> None:
    """Allow requests with a signature or the token; without a token set, all."""
    token = call.settings.token
    if token is None:
        return
    signature = call.request.query_value("sig")
    bearer = call.request.header("authorization").partition(" ")[2]
    for presented, expected in ((signature, account_key(call.settings)), (bearer, token)):
        if hmac.compare_digest(presented.encode(), expected.encode()):
            return
    raise Permanent(
        "AuthenticationFailed", "Server failed to authenticate the request.", status=403
    )


def _dispatch(call: Call) -> Response:
    name, method = call.names.get("blob"), call.request.method
    work = call.request.query_value("comp").casefold()
    if not name and work != "lease":
        return _list(call) if (method, work) == ("GET", "list") else _accept_container(call)
    match method, work:
        case "PUT", "":
            return _put(call, call.request.body)
        case "PUT", _ if name and work in _PUTS:
            return _PUTS[work](call)
        case "GET" | "HEAD", "" | "metadata":
            return _show(call)
        case "DELETE", "":
            return _drop(call)
        case _:
            text = f"{method} with comp={work} is not something that this blob server does."
            raise Permanent("UnsupportedHttpVerb", text, status=405)


def _accept_container(call: Call) -> Response:
    """Accept requests for containers: creating, reading and deleting one changes nothing."""
    status = {"PUT": 201, "DELETE": 202}.get(call.request.method, 200)
    return Response(status, blob_headers(call, call.settings.now()))


def _put(call: Call, content: bytes) -> Response:
    content_type = call.request.header("x-ms-blob-content-type")
    content_type = content_type or call.request.header("content-type", "application/octet-stream")
    note = _note(call, content, content_type, _meta(call.request.headers))

    def change(old: Data) -> Data:
        _check_conditions(call, old)
        return {**note, **leases.after_write(old, call.request, call.settings.now())}

    call.blob_store.update(ItemKind.BLOB, _path(call), change, content)
    return Response(201, {**blob_headers(call, note["modified"], note), "content-md5": note["md5"]})


def _note(
    call: Call, content: bytes, content_type: str, meta: Mapping[str, str]
) -> dict[str, Data]:
    return {
        "size": len(content),
        "modified": call.settings.now(),
        "etag": f'"0x{hashlib.sha256(content).hexdigest()[:15].upper()}"',
        "md5": base64.b64encode(hashlib.md5(content, usedforsecurity=False).digest()).decode(),
        "type": content_type,
        "meta": dict(meta),
    }


def _put_block(call: Call) -> Response:
    block = f"{_path(call)}\n{call.request.query_value('blockid')}"
    call.blob_store.put(ItemKind.BLOCK, block, None, call.request.body)
    return Response(201, blob_headers(call, call.settings.now()))


def _put_blocks(call: Call) -> Response:
    try:
        block_ids = [element.text or "" for element in ElementTree.fromstring(call.request.body)]  # noqa: S314
    except ElementTree.ParseError as error:
        raise Permanent("InvalidXmlDocument", f"The block list is no XML: {error}.") from None
    names = [f"{_path(call)}\n{block_id}" for block_id in block_ids]
    if any(call.blob_store.find(ItemKind.BLOCK, name) is None for name in names):
        raise Permanent("InvalidBlockList", "The specified block list is invalid.")
    response = _put(call, b"".join(call.blob_store.content(ItemKind.BLOCK, name) for name in names))
    for item in list(call.blob_store.list(ItemKind.BLOCK, f"{_path(call)}\n")):
        call.blob_store.delete(ItemKind.BLOCK, item.name)
    return response


def _describe(call: Call) -> Response:
    def change(old: Data) -> Data:
        unchanged = {name: value for name, value in _require(old).items() if name != leases.NOTE}
        lease = leases.after_write(old, call.request, call.settings.now())
        return {**unchanged, "meta": _meta(call.request.headers), **lease}

    note = call.blob_store.update(ItemKind.BLOB, _path(call), change)
    return Response(200, blob_headers(call, call.settings.now(), note))


def _lease(call: Call) -> Response:
    """Handle a blob's lease, which changes neither its content nor its etag."""
    now, answered = call.settings.now(), list[tuple[int, dict[str, str]]]()

    def change(old: Data) -> Data:
        unchanged = {name: value for name, value in _require(old).items() if name != leases.NOTE}
        _check_conditions(call, old)
        lease, answer = leases.change(leases.BlobLease.of(old), call.request, now)
        answered.append(answer)
        return {**unchanged, **lease.to_note()}

    note = call.blob_store.update(ItemKind.BLOB, _path(call), change)
    (status, headers), *_ = answered
    return Response(status, {**blob_headers(call, note["modified"], note), **headers})


def _check_conditions(call: Call, note: Data) -> None:
    """Check `If-Match` and `If-None-Match`."""
    if call.request.header("if-none-match") == "*" and note is not None:
        raise Permanent("BlobAlreadyExists", "The specified blob already exists.", status=409)
    etag = call.request.header("if-match")
    if etag not in ("", "*") and etag != (note or {}).get("etag"):
        text = "The condition specified using HTTP conditional header(s) is not met."
        raise Permanent("ConditionNotMet", text, status=412)


_PUTS = {"metadata": _describe, "block": _put_block, "blocklist": _put_blocks, "lease": _lease}


def _show(call: Call) -> Response:
    item = _require_blob(call)
    note, now = item.note, call.settings.now()
    leases.check_read(note, call.request, now)
    headers = {
        **leases.headers(note, now),
        **blob_headers(call, note["modified"], note),
        "content-type": note["type"],
        "content-length": str(note["size"]),
        "x-ms-blob-type": "BlockBlob",
        "accept-ranges": "bytes",
        **{_META + name: value for name, value in note["meta"].items()},
    }
    if call.request.method == "HEAD":
        return Response(200, headers)
    content = call.blob_store.content(ItemKind.BLOB, item.name)
    return select_range(call, Response(200, headers, content))


def _drop(call: Call) -> Response:
    item = _require_blob(call)
    leases.after_write(item.note, call.request, call.settings.now())
    call.blob_store.delete(ItemKind.BLOB, item.name)
    return Response(202)


def _list(call: Call) -> Response:
    """List the blobs of a container, or of all, as XML; folders if a delimiter is given."""
    root = _container(call) + "/" if "container" in call.names else ""
    parameter = call.request.query_value
    prefix, delimiter, marker = parameter("prefix"), parameter("delimiter"), parameter("marker")
    lines, folders = [], set()
    for item in call.blob_store.list(ItemKind.BLOB, root + prefix):
        name = item.name.removeprefix(root)
        head, is_folder, _ = (
            name[len(prefix) :].partition(delimiter) if delimiter else (name, "", "")
        )
        if is_folder:
            folders.add(f"{prefix}{head}{delimiter}")
        elif name > marker:
            lines.append((name, item.note))
    next_marker = lines[_PAGE - 1][0] if len(lines) > _PAGE else ""
    blobs = "".join(list_entry(call, *line) for line in lines[:_PAGE])
    found_folders = (
        f"<BlobPrefix><Name>{escape(folder)}</Name></BlobPrefix>" for folder in folders
    )
    body = (
        '<?xml version="1.0" encoding="utf-8"?><EnumerationResults>'
        f"<Prefix>{escape(prefix)}</Prefix><Blobs>"
        f"{''.join(sorted(found_folders))}{blobs}"
        f"</Blobs><NextMarker>{escape(next_marker)}</NextMarker></EnumerationResults>"
    )
    return Response(200, {"content-type": "application/xml"}, body.encode())


def _container(call: Call) -> str:
    account = _DOMAIN.sub("", call.names["account"])
    return f"{account}/{call.names['container']}"


def _path(call: Call) -> str:
    return f"{_container(call)}/{call.names['blob']}"


def _require_blob(call: Call) -> StoredItem:
    item = call.blob_store.find(ItemKind.BLOB, _path(call))
    _require(item)
    assert item is not None
    return item


def _require(note: Data) -> Data:
    """A note, or item, of a blob."""
    if note is None:
        raise NotFound("BlobNotFound", "The specified blob does not exist.")
    return note


def _meta(headers: Mapping[str, str]) -> dict[str, str]:
    return {name[len(_META) :]: value for name, value in headers.items() if name.startswith(_META)}


def account_key(settings: EmulatorSettings) -> str:
    """The key of every account, which signs what it signs."""
    secret = (settings.token or ROOT).encode()
    return base64.b64encode(hmac.new(secret, b"storage", hashlib.sha256).digest()).decode()
