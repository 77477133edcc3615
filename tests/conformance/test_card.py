"""Cards: read whole, and refused by name where a file is none."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from conformance import RECORDED, CardError, load, read
from mlctl.pointer import Data
from tests.builders.paths import SHARED


def test_every_card_has_a_source_and_comes_after_cards_that_are_there() -> None:
    cards = {card.id: card for card in load()}
    assert len(cards) >= 76
    for card in cards.values():
        assert {"repository", "path", "recorded"} <= set(card.source), card.id
        assert set(card.follows) <= set(cards), card.id
        assert card.api_version or card.request.host, card.id


def test_each_file_is_named_by_its_card() -> None:
    assert [path.stem for path in sorted(RECORDED.glob("*.json"))] == [card.id for card in load()]


def test_the_cards_are_those_that_were_handed_over() -> None:
    folder = SHARED / "recorded"
    if not folder.is_dir():
        pytest.skip("the recorded exchanges are not beside this checkout")
    ours = {path.name: json.loads(path.read_text()) for path in RECORDED.glob("*.json")}
    theirs = {path.name: json.loads(path.read_text()) for path in folder.glob("*.json")}
    for card in theirs.values():  # a card that is not there cannot be followed
        card["follows"] = [other for other in card["follows"] if f"{other}.json" in ours]
    differing = [name for name, card in theirs.items() if ours.get(name) != card]
    assert differing == []


def whole(status: Data = 200, **request: Data) -> str:
    """The text of a card."""
    asked = {"method": "GET", "path": "/", **request}
    response = {"status": status, "headers": {}, "body": None}
    names = {"id": "a", "kind": "k", "operation": "get", "source": {}, "api_version": "1"}
    return json.dumps({**names, "request": asked, "response": response})


def test_a_card_needs_no_more_than_this(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(whole())
    assert read(tmp_path / "a.json").response.status == 200


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "it is no JSON"),
        ("[]", "it is no card"),
        ('{"request": {}, "response": {}}', "it is no card"),
        ('{"request": {"method": "GET"}, "response": {"status": 200}}', "it is no card"),
        (whole(status="200"), "the status is no number"),
        (whole(path=7), "is no text"),
        (whole(query=[]), "are no object"),
        (whole(headers={"a": 1}), "is no text"),
    ],
)
def test_what_is_no_card_is_refused_by_name(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(CardError, match=re.escape(why)) as refused:
        read(tmp_path / "a.json")
    assert str(tmp_path / "a.json") in str(refused.value)
