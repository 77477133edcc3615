"""The activity log over HTTP: the patterns of filters that the service takes, and its shape."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import pytest

from mlctl.emulator import Emulator, Request, Response
from tests.builders.azure import SCOPE, emulated

CPU = f"{SCOPE.id}/computes/cpu"
GPU = f"{SCOPE.id}/computes/gpu"
LOG = (
    f"/subscriptions/{SCOPE.subscription}/providers/Microsoft.Insights/eventtypes/management/values"
)
SINCE = "eventTimestamp ge '2026-01-01T00:00:00Z'"
BODY = {
    "location": "eastus",
    "properties": {
        "computeType": "AmlCompute",
        "properties": {"vmSize": "STANDARD_DS3_V2", "scaleSettings": {"maxNodeCount": 1}},
    },
}


def token(**claims: str) -> str:
    """A token with claims that nobody checks here."""
    part = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{part}.sig"


def ask(
    emulator: Emulator, method: str, path: str, body: Mapping[str, Any] | None = None, **claims: str
) -> Response:
    """The answer to a request of a caller with these claims."""
    headers = {"authorization": f"Bearer {token(**claims)}", "content-type": "application/json"}
    version = "2015-04-01" if "Insights" in path else "2024-04-01"
    url = f"https://azure.test{path}{'&' if '?' in path else '?'}api-version={version}"
    content = json.dumps(body).encode() if body is not None else b""
    return emulator(Request.to(method, url, headers, content))


@pytest.fixture
def emulator() -> Emulator:
    """A cloud in which ann made two clusters, and a program deleted one."""
    made = emulated()
    for path in (CPU, GPU):
        assert ask(made, "PUT", path, BODY, upn="ann@contoso.com").status in (200, 201)
        ask(made, "GET", path, upn="reader@contoso.com")
    gone = ask(made, "DELETE", f"{GPU}?underlyingResourceAction=Delete", appid="pipeline")
    assert gone.status in (200, 202)
    return made


def events(emulator: Emulator, wanted: str, select: str = "") -> list[dict[str, Any]]:
    """The events that a filter gives."""
    query = f"?$filter={quote(wanted)}" + (f"&$select={select}" if select else "")
    answer = ask(emulator, "GET", LOG + query)
    assert answer.status == 200, answer.body
    found: list[dict[str, Any]] = json.loads(answer.body)["value"]
    return found


def told(found: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Who did what to which resource."""
    return [
        (
            one["caller"],
            one["operationName"]["value"].rpartition("/")[2],
            one["resourceId"].rpartition("/")[2],
        )
        for one in found
    ]


def test_a_resource_has_its_own_events_newest_first(emulator: Emulator) -> None:
    assert told(events(emulator, f"{SINCE} and resourceUri eq '{GPU}'")) == [
        ("pipeline", "delete", "gpu"),
        ("ann@contoso.com", "write", "gpu"),
    ]


def test_groups_providers_and_subscriptions_have_those_of_all(emulator: Emulator) -> None:
    every = events(emulator, SINCE)
    assert len(every) == 3
    assert events(emulator, f"{SINCE} and resourceGroupName eq '{SCOPE.resource_group}'") == every
    ours = f"{SINCE} and resourceProvider eq 'Microsoft.MachineLearningServices'"
    assert events(emulator, ours) == every
    assert events(emulator, f"{SINCE} and resourceProvider eq 'Microsoft.Web'") == []
    assert events(emulator, f"{SINCE} and resourceGroupName eq 'other'") == []


def test_an_event_has_the_documented_keys(emulator: Emulator) -> None:
    (one,) = events(emulator, f"{SINCE} and resourceUri eq '{CPU}'")
    documented = {"authorization", "caller", "channels", "claims", "correlationId", "eventDataId"}
    documented |= {"eventName", "category", "httpRequest", "id", "level", "resourceGroupName"}
    documented |= {"resourceProviderName", "resourceId", "operationId", "operationName", "status"}
    documented |= {"properties", "subStatus", "eventTimestamp", "submissionTimestamp"}
    assert documented | {"description", "subscriptionId"} == one.keys()
    operation = "Microsoft.MachineLearningServices/workspaces/computes/write"
    assert one["operationName"]["value"] == operation
    (chosen,) = events(emulator, f"{SINCE} and resourceUri eq '{CPU}'", "caller,eventTimestamp")
    assert chosen.keys() == {"caller", "eventTimestamp"}


def test_a_span_counts_back_from_now(emulator: Emulator) -> None:
    span = "eventTimestamp ge '2030-05-01T00:00:00Z' and eventTimestamp le '2030-05-02T00:00:00Z'"
    assert len(events(emulator, span)) == 3


@pytest.mark.parametrize("wanted", ["", "resourceUri eq 'x'", "eventTimestamp ge 'soon'", "a eq 1"])
def test_other_filters_are_refused(emulator: Emulator, wanted: str) -> None:
    span = wanted.replace("'soon'", "'soon' and eventTimestamp le 'later'")
    assert ask(emulator, "GET", f"{LOG}?$filter={quote(span)}").status == 400
