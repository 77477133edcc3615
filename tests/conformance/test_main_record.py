"""`python -m conformance record`: a recording becomes cards, which nobody's name is in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance import load
from conformance.__main__ import main
from mlctl.cli.shell.exits import Exit

SUBSCRIPTION = "6560575d-fa06-4e7d-95fb-f962e74efd7a"
WORKSPACE = (
    f"/subscriptions/{SUBSCRIPTION}/resourceGroups/team-rg/providers/"
    "Microsoft.MachineLearningServices/workspaces/prod-ml"
)
STATUS = (
    "https://management.azure.com/subscriptions/x/providers/Microsoft.MachineLearningServices/"
    "locations/eastus/computeOperationsStatus/7d3e0a52-7f02-4f8e-a2ab-6f6b6b1c9e11"
)


def entry(method: str, url: str, status: int, **headers: str) -> dict[str, object]:
    return {
        "RequestUri": url,
        "RequestMethod": method,
        "RequestHeaders": {"Authorization": "Bearer eyJ0.eyJ1.c2ln"},
        "RequestBody": None,
        "StatusCode": status,
        "ResponseHeaders": headers,
        "ResponseBody": {"id": f"{WORKSPACE}/computes/cpu"},
    }


def recording(folder: Path) -> Path:
    url = f"https://management.azure.com{WORKSPACE}/computes/cpu?api-version=2024-04-01"
    entries = [
        entry("POST", "https://login.microsoftonline.com/common/oauth2/token", 200),
        entry("PUT", url, 201, **{"Azure-AsyncOperation": STATUS + "?t=1&s=secret"}),
        entry("GET", STATUS + "?api-version=2024-04-01&t=1&s=secret", 200),
    ]
    path = folder / "recording.json"
    path.write_text(json.dumps({"Entries": entries}))
    return path


def test_a_recording_becomes_cards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    recording(tmp_path)
    assert main(["record", "recording.json", "--to", "cards", "--recorded=2026-01-31"]) == 0
    assert capsys.readouterr().out == "2 cards in cards; 1 other exchange is left out\n"
    put, poll = sorted(load(tmp_path / "cards"), key=lambda card: card.operation, reverse=True)
    assert (put.id, poll.id, poll.follows) == ("compute-put-1", "compute-poll-1", (put.id,))
    assert put.source == {
        "repository": "recording.json",
        "path": "recording.json",
        "recorded": "2026-01-31",
        "entry": 1,
    }
    written = "".join(path.read_text() for path in (tmp_path / "cards").iterdir())
    for secret in (SUBSCRIPTION, "team-rg", "prod-ml", "secret", "eyJ0"):
        assert secret not in written
    assert main(["record", "recording.json", "--to", "cards"]) == 0
    assert len(load(tmp_path / "cards")) == 4


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (("nothing.json", "--to", "cards"), 1, "No such file"),
        (("recording.json", "--to", "recording.json"), 1, "cannot write to"),
        (
            ("recording.json", "--to", "cards", "--recorded", "today"),
            2,
            "invalid fromisoformat value",
        ),
        (("recording.json",), 2, "--to"),
    ],
)
def test_what_does_not_work_is_reported(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    code: int,
    reason: str,
) -> None:
    recording(tmp_path)
    monkeypatch.chdir(tmp_path)
    if code == Exit.USAGE:
        with pytest.raises(SystemExit) as ended:
            main(["record", *words])
        assert ended.value.code == code
    else:
        assert main(["record", *words]) == code
    assert reason in capsys.readouterr().err
