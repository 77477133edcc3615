"""Recordings of four programs say the same exchange."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance import CardError
from conformance.exchanges import Exchange, exchanges

URL = "https://management.azure.com/subscriptions/s/providers/x?api-version=1"
SENT, TOLD = {"Content-Type": "application/json"}, {"Location": "https://a/b"}
BODY: dict[str, Any] = {"value": []}
ANSWER = {"a": None}
EXCHANGE = Exchange("PUT", URL, SENT, BODY, 201, TOLD, ANSWER)
PAIRS = {"Content-Type": ["application/json"]}
LINE = {
    "method": "PUT",
    "path": "/subscriptions/s/providers/x",
    "query": {"api-version": "1"},
    "headers": {**SENT, "host": "management.azure.com"},
    "body": BODY,
    "status": 201,
    "response_headers": TOLD,
    "response": ANSWER,
}
HAR = {
    "request": {
        "method": "PUT",
        "url": URL,
        "headers": [{"name": "Content-Type", "value": "application/json"}],
        "postData": {"text": json.dumps(BODY)},
    },
    "response": {
        "status": 201,
        "headers": [{"name": "Location", "value": "https://a/b"}],
        "content": {"text": "eyJhIjogbnVsbH0=", "encoding": "base64"},
    },
}
SDK = {
    "RequestUri": URL,
    "RequestMethod": "PUT",
    "RequestHeaders": SENT,
    "RequestBody": BODY,
    "StatusCode": 201,
    "ResponseHeaders": {"Location": ["https://a/b"]},
    "ResponseBody": ANSWER,
}
POWERSHELL = {
    "Request": {
        "Method": "PUT",
        "RequestUri": URL,
        "Content": '{\r\n  "value": [ ]\r\n}',
        "isContentBase64": False,
        "Headers": {},
        "ContentHeaders": PAIRS,
    },
    "Response": {
        "StatusCode": 201,
        "Headers": {"Location": ["https://a/b"]},
        "ContentHeaders": {},
        "Content": '{\n  "a": null\n}',
        "isContentBase64": False,
    },
}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(LINE) + "\n" + json.dumps(LINE) + "\n",
        json.dumps({"log": {"version": "1.2", "entries": [HAR, HAR]}}),
        json.dumps({"Entries": [SDK, SDK], "Variables": {}}),
        "\ufeff" + json.dumps({"New-Az+$PUT+1": POWERSHELL, "New-Az+$PUT+2": POWERSHELL}),
    ],
    ids=["emulator", "har", "sdk", "powershell"],
)
def test_a_recording_is_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "recording").write_text(text)
    read = exchanges(tmp_path / "recording")
    assert len(read) == 2
    for one in read:
        headers = {name: value for name, value in one.sent.items() if name != "host"}
        assert (one.method, one.url, headers) == (EXCHANGE.method, EXCHANGE.url, EXCHANGE.sent)
        assert (one.request, one.status) == (EXCHANGE.request, EXCHANGE.status)
        assert (one.headers, one.response) == (EXCHANGE.headers, EXCHANGE.response)


@pytest.mark.parametrize("text", ["", "{", "[1]", "3", '{"a": 1}', '{"Entries": [{}]}', "a: b\n"])
def test_what_is_no_recording_is_said_to_be_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "recording").write_text(text)
    if not text:
        assert exchanges(tmp_path / "recording") == []
        return
    with pytest.raises(CardError, match="it is no recording"):
        exchanges(tmp_path / "recording")


@pytest.mark.parametrize("name", ["nothing", "."])
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(CardError) as refused:
        exchanges(tmp_path / name)
    assert str(tmp_path) in str(refused.value)


def test_bodies_that_are_no_json_stay_text(tmp_path: Path) -> None:
    entry: dict[str, Any] = {**SDK, "ResponseBody": "<html>", "RequestBody": ""}
    (tmp_path / "recording").write_text(json.dumps({"Entries": [entry]}))
    (read,) = exchanges(tmp_path / "recording")
    assert (read.request, read.response) == (None, "<html>")
