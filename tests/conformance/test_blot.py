"""Blotting: what is its owner's stands nowhere any more, and the form of the exchange is left."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance import Card, as_data, load
from conformance.blot import Blotter
from conformance.exchanges import Exchange
from conformance.making import cards

OWNERS = {
    "{subscription}": "6560575d-fa06-4e7d-95fb-f962e74efd7a",
    "{resourceGroup}": "team-rg",
    "{workspace}": "prod-ml",
    "{account}": "prodmlstore123",
    "{vault}": "prodvault",
    "{insights}": "prodinsights",
    "{registry}": "prodregistry",
    "{location}": "eastus",
    "{container}": "azureml-blobstore-6560575d",
    "{api}": "eastus.api.azureml.ms",
    "user@example.com": "jane.doe@contoso.com",
}
CARDS = load()


def owned(data: Any) -> Any:
    """A card as it was before it was cut: with names of somebody's."""
    text = json.dumps(data)
    for mark, name in OWNERS.items():
        text = text.replace(mark, name)
    return json.loads(text)


def exchange(card: Card) -> Exchange:
    """What was on the wire, as far as the card still says it."""
    data = owned(as_data(card))
    request, response = data["request"], data["response"]
    query = "&".join(f"{name}={value}" for name, value in request["query"].items())
    host = request.get("host", "management.azure.com")
    url = f"https://{host}{request['path']}" + (f"?{query}" if query else "")
    return Exchange(
        request["method"],
        url,
        request["headers"],
        request["body"],
        response["status"],
        response["headers"],
        response["body"],
    )


def forms(data: Any) -> Any:
    """The data without its texts; of an id that is a key, the name."""
    if isinstance(data, dict):
        return {key.rpartition("/")[2]: forms(value) for key, value in data.items()}
    if isinstance(data, list):
        return [forms(value) for value in data]
    return "text" if isinstance(data, str) else data


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.id)
def test_a_card_that_was_recorded_again_is_the_card(card: Card) -> None:
    (made,) = cards([exchange(card)], card.source)
    text = json.dumps(as_data(made))
    secret = [name for mark, name in OWNERS.items() if mark not in ("{location}", "{api}")]
    assert [name for name in secret if name in text] == []
    polled = card.operation == "poll"
    assert made.operation == card.operation
    assert polled or made.kind == card.kind or made.id.startswith(("updateQuotas", "jobs"))
    assert made.request.path.count("/") == card.request.path.count("/")
    assert forms(made.request.body) == forms(card.request.body)
    assert made.response.status == card.response.status
    assert forms(made.response.body) == forms(card.response.body)


@pytest.mark.parametrize(
    ("data", "blotted"),
    [
        ({"createdBy": "Jane"}, {"createdBy": "user"}),
        ({"adminUserPassword": "hunter2!"}, {"adminUserPassword": "REDACTED"}),
        ({"key": "c2VjcmV0"}, {"key": "REDACTED"}),
        ({"key": None, "secretsType": "Sas"}, {"key": None, "secretsType": "Sas"}),
        ("ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAB jane@host", "ssh-rsa REDACTED user"),
        ("to jane@contoso.com", "to user@example.com"),
        (
            "https://a.b/c?api-version=1&t=1&c=MII&s=xyz&h=q&sig=abc%3D",
            "https://a.b/c?api-version=1",
        ),
        (
            ["11111111-2222-3333-4444-555555555555", "11111111-2222-3333-4444-555555555555"],
            ["00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000001"],
        ),
    ],
)
def test_what_is_somebodys_is_blotted_out(data: Any, blotted: Any) -> None:
    assert Blotter().data(data) == blotted


def test_a_name_that_was_met_is_blotted_wherever_it_stands() -> None:
    blotter = Blotter()
    blotter.learn("/subscriptions/s1/resourceGroups/rg-of-us/providers/x")
    assert blotter.text("no group rg-of-us, but rg-of-us-2") == (
        "no group {resourceGroup}, but rg-of-us-2"
    )
