"""The blob server behind uploads: as much of Azure Storage's REST API as the SDK's transfers need.

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
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime
from urllib.parse import urlencode
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from mlctl.emulator.http.messages import Response
from mlctl.emulator.requests.blob_store import ItemKind, StoredItem
from mlctl.emulator.requests.call import Call
from mlctl.emulator.requests.settings import EmulatorSettings
from mlctl.pointer import Data
from mlctl.service_errors import NotFound, Permanent, ServiceError

ROOT = "blob"
_META = "x-ms-meta-"
_DOMAIN = re.compile(r"\.(blob|file|dfs)\.[^/]*$")
_PAGE = 5000


def sas(settings: EmulatorSettings) -> str:
    """A shared access signature for everything stored."""
    signed = {"sv": "2022-11-02", "sr": "c", "sp": "racwdl", "se": "2099-12-31T00:00:00Z"}
    return urlencode({**signed, "sig": _signature(settings)})


def account_sas(settings: EmulatorSettings) -> str:
    """The same, as the service gives it of an account: with the question mark."""
    end = {"se": "2099-12-31T00:00:00Z", "srt": "co", "ss": "bf", "sp": "rcuwdl"}
    return "?" + urlencode({"sv": "2022-11-02", "sig": _signature(settings), **end})


def account_key(settings: EmulatorSettings) -> str:
    """An account key."""
    return _signature(settings)


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
        return _xml_error(error)


def authorize(call: Call) -> None:
    """Allow requests with a signature or the token; without a token set, all.

    Raises:
        ServiceError: 403, the caller has neither.
    """
    token = call.settings.token
    if token is None:
        return
    given = call.request.query_value("sig")
    bearer = call.request.header("authorization").partition(" ")[2]
    for one, other in ((given, _signature(call.settings)), (bearer, token)):
        if hmac.compare_digest(one.encode(), other.encode()):
            return
    raise Permanent(
        "AuthenticationFailed", "Server failed to authenticate the request.", status=403
    )


def _xml_error(error: ServiceError) -> Response:
    body = (
        '<?xml version="1.0" encoding="utf-8"?>'
        f"<Error><Code>{error.code}</Code><Message>{escape(error.message)}</Message></Error>"
    )
    headers = {"content-type": "application/xml", "x-ms-error-code": error.code}
    return Response(error.status, headers, body.encode())


def _dispatch(call: Call) -> Response:
    name, method = call.names.get("blob"), call.request.method
    work = call.request.query_value("comp").casefold()
    if not name:
        return _list(call) if (method, work) == ("GET", "list") else _container_done(call)
    match method, work:
        case "PUT", "":
            return _put(call, call.request.body)
        case "PUT", _ if work in _PUTS:
            return _PUTS[work](call)
        case "GET" | "HEAD", "" | "metadata":
            return _show(call)
        case "DELETE", "":
            return _drop(call)
        case _:
            text = f"{method} with comp={work} is not something that this blob server does."
            raise Permanent("UnsupportedHttpVerb", text, status=405)


def _container_done(call: Call) -> Response:
    """Containers exist: making, asking for and deleting one change nothing."""
    status = {"PUT": 201, "DELETE": 202}.get(call.request.method, 200)
    return Response(status, _dated(call, call.settings.now()))


def _put(call: Call, content: bytes) -> Response:
    path = _path(call)
    if call.request.header("if-none-match") == "*" and call.blob_store.find(ItemKind.BLOB, path):
        raise Permanent("BlobAlreadyExists", "The specified blob already exists.", status=409)
    content_type = call.request.header("x-ms-blob-content-type")
    content_type = content_type or call.request.header("content-type", "application/octet-stream")
    note = _note(call, content, content_type, _meta(call.request.headers))
    call.blob_store.put(ItemKind.BLOB, path, note, content)
    return Response(201, {**_dated(call, note["modified"], note), "content-md5": note["md5"]})


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
    return Response(201, _dated(call, call.settings.now()))


def _put_blocks(call: Call) -> Response:
    try:
        wanted = [each.text or "" for each in ElementTree.fromstring(call.request.body)]  # noqa: S314
    except ElementTree.ParseError as error:
        raise Permanent("InvalidXmlDocument", f"The block list is no XML: {error}.") from None
    names = [f"{_path(call)}\n{each}" for each in wanted]
    if any(call.blob_store.find(ItemKind.BLOCK, name) is None for name in names):
        raise Permanent("InvalidBlockList", "The specified block list is invalid.")
    response = _put(call, b"".join(call.blob_store.content(ItemKind.BLOCK, name) for name in names))
    for item in list(call.blob_store.list(ItemKind.BLOCK, f"{_path(call)}\n")):
        call.blob_store.delete(ItemKind.BLOCK, item.name)
    return response


def _describe(call: Call) -> Response:
    item = _found(call)
    call.blob_store.set_note(
        ItemKind.BLOB, item.name, {**item.note, "meta": _meta(call.request.headers)}
    )
    return Response(200, _dated(call, call.settings.now(), item.note))


_PUTS = {"metadata": _describe, "block": _put_block, "blocklist": _put_blocks}


def _show(call: Call) -> Response:
    item = _found(call)
    note = item.note
    headers = {
        **_dated(call, note["modified"], note),
        "content-type": note["type"],
        "content-length": str(note["size"]),
        "x-ms-blob-type": "BlockBlob",
        "accept-ranges": "bytes",
        **{_META + name: held for name, held in note["meta"].items()},
    }
    if call.request.method == "HEAD":
        return Response(200, headers)
    content = call.blob_store.content(ItemKind.BLOB, item.name)
    return _ranged(call, Response(200, headers, content))


def _ranged(call: Call, whole: Response) -> Response:
    """The part of a blob that a `Range` header asks for."""
    size = len(whole.body)
    text = call.request.header("x-ms-range") or call.request.header("range")
    match = re.fullmatch(r"bytes=([0-9]+)-([0-9]*)", text)
    if not match:
        return whole
    first, last = _offset(match[1]), min(_offset(match[2] or str(size)), size - 1)
    if first >= size:
        raise Permanent("InvalidRange", "The range specified is invalid for this blob.", status=416)
    part = whole.body[first : last + 1]
    held = {"content-length": str(len(part)), "content-range": f"bytes {first}-{last}/{size}"}
    return replace(whole, status=206, headers={**whole.headers, **held}, body=part)


def _offset(digits: str) -> int:
    """A number of a `Range`; Python refuses to read very long ones."""
    return int(digits) if len(digits) < len(str(sys.maxsize)) else sys.maxsize


def _drop(call: Call) -> Response:
    call.blob_store.delete(ItemKind.BLOB, _found(call).name)
    return Response(202)


def _list(call: Call) -> Response:
    """The blobs of a container, as XML; folders where a delimiter is given."""
    root, asked = _container(call) + "/", call.request.query_value
    prefix, delimiter, marker = asked("prefix"), asked("delimiter"), asked("marker")
    lines, folders = [], set()
    for item in call.blob_store.list(ItemKind.BLOB, root + prefix):
        name = item.name.removeprefix(root)
        head, found, _ = name[len(prefix) :].partition(delimiter) if delimiter else (name, "", "")
        if found:
            folders.add(f"{prefix}{head}{delimiter}")
        elif name > marker:
            lines.append((name, item.note))
    more = lines[_PAGE - 1][0] if len(lines) > _PAGE else ""
    found_folders = (f"<BlobPrefix><Name>{escape(each)}</Name></BlobPrefix>" for each in folders)
    body = (
        '<?xml version="1.0" encoding="utf-8"?><EnumerationResults>'
        f"<Prefix>{escape(prefix)}</Prefix><Blobs>"
        f"{''.join(sorted(found_folders))}{''.join(_entry(*each) for each in lines[:_PAGE])}"
        f"</Blobs><NextMarker>{escape(more)}</NextMarker></EnumerationResults>"
    )
    return Response(200, {"content-type": "application/xml"}, body.encode())


def _entry(name: str, note: Mapping[str, Data]) -> str:
    meta = "".join(
        f"<{account_key}>{escape(held)}</{account_key}>"
        for account_key, held in note["meta"].items()
    )
    return (
        f"<Blob><Name>{escape(name)}</Name><Properties>"
        f"<Last-Modified>{_date(note['modified'])}</Last-Modified><Etag>{escape(note['etag'])}</Etag>"
        f"<Content-Length>{note['size']}</Content-Length><BlobType>BlockBlob</BlobType>"
        f"<Content-Type>{escape(note['type'])}</Content-Type></Properties>"
        f"<Metadata>{meta}</Metadata></Blob>"
    )


def _container(call: Call) -> str:
    account = _DOMAIN.sub("", call.names["account"])
    return f"{account}/{call.names['container']}"


def _path(call: Call) -> str:
    return f"{_container(call)}/{call.names['blob']}"


def _found(call: Call) -> StoredItem:
    item = call.blob_store.find(ItemKind.BLOB, _path(call))
    if item is None:
        raise NotFound("BlobNotFound", "The specified blob does not exist.")
    return item


def _meta(headers: Mapping[str, str]) -> dict[str, str]:
    return {name[len(_META) :]: held for name, held in headers.items() if name.startswith(_META)}


def _dated(call: Call, moment: float, note: Mapping[str, Data] | None = None) -> dict[str, str]:
    etag = note["etag"] if note else '"0x0"'
    headers = {"etag": str(etag), "last-modified": _date(moment)}
    return {**headers, "x-ms-version": call.request.header("x-ms-version", "2022-11-02")}


def _date(moment: float) -> str:
    return format_datetime(datetime.fromtimestamp(moment, UTC), usegmt=True)


def _signature(settings: EmulatorSettings) -> str:
    secret = (settings.token or ROOT).encode()
    return base64.b64encode(hmac.new(secret, b"storage", hashlib.sha256).digest()).decode()
