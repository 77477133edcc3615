"""What looks like a secret is in no record, wherever it stands."""

from __future__ import annotations

import json

from mlctl.emulator.http.messages import Request, Response
from mlctl.emulator.http.record import Recorder

SECRET = "Hunter2hunter2"


def test_no_secret_is_recorded() -> None:
    variables = {
        "DB_KEY": SECRET,
        "FEED": f"https://me:{SECRET}@example.org",
        "STORE": f"AccountName=a;AccountKey={SECRET};x",
    }
    answer = Response(200, {}, json.dumps({"message": f"password={SECRET} is bad"}).encode())
    lines: list[str] = []
    recorder = Recorder(lambda _request: answer, lines.append, lambda: 0.0)
    url = f"http://127.0.0.1/a/sig={SECRET}/b?api-version=1&data=https%3A%2F%2Fx%3Fsig%3D{SECRET}"
    recorder(Request.to("PUT", url, {"x-y": f"Bearer {SECRET}"}, json.dumps(variables).encode()))
    (line,) = lines
    assert SECRET not in line
    assert json.loads(line)["body"]["FEED"] == "https://me:***@example.org"


def test_no_key_of_an_endpoint_is_recorded() -> None:
    held = {"primaryKey": SECRET, "secondaryKey": SECRET, "description": "of the team"}
    answer = Response(200, {}, json.dumps(held).encode())
    lines: list[str] = []
    recorder = Recorder(lambda _request: answer, lines.append, lambda: 0.0)
    sent = {"keyType": "Primary", "keyValue": SECRET, "properties": {"keys": held}}
    recorder(Request.to("POST", "http://127.0.0.1/regenerateKeys", {}, json.dumps(sent).encode()))
    (line,) = lines
    assert SECRET not in line
    assert json.loads(line)["response"]["description"] == "of the team"
    assert json.loads(line)["body"]["keyType"] == "Primary"
