"""Services that give etags: a write that would undo another one is refused, and laid over anew."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

pytest.importorskip("azure.core")

from mlctl.applying.events import RetryOptions, Stale, StepState
from mlctl.emulator import Emulator, Request, Response
from tests.builders.azure import azure, emulated, no
from tests.builders.plans import applied, carried_out, planned, writes
from tests.builders.resources import endpoint
from tests.builders.workspace import SCOPE

ENDPOINT = endpoint().address
Change = Callable[[dict[str, Any]], None]
FOREIGN = {"sku": {"name": "S"}}


@dataclass
class Tagged:
    """A service that gives endpoints an etag, in the body or as a header, and holds writes to it.

    Before the next PUT, each of `others` writes once.
    """

    emulator: Emulator
    as_header: bool = False
    weak: str = ""
    others: list[Change] = field(default_factory=list)
    conditions: list[str | None] = field(default_factory=list)

    def __call__(self, request: Request) -> Response:
        if not request.path.endswith("/batchEndpoints/heart-batch"):
            return self.emulator(request)
        if request.method == "PUT":
            if self.others:
                self._interfere(request, self.others.pop(0))
            condition = request.header("if-match") or None
            self.conditions.append(condition)
            if condition and condition != self._tag(self._live(request)):
                return no(412, "PreconditionFailed")
        response = self.emulator(request)
        return self._tagged(response) if request.method == "GET" else response

    def _interfere(self, request: Request, change: Change) -> None:
        body = json.loads(self._live(request).body)
        change(body)
        headers = {key: value for key, value in request.headers.items() if key != "if-match"}
        self.emulator(replace(request, body=json.dumps(body).encode(), headers=headers))
        self._live(request)

    def _live(self, request: Request) -> Response:
        return self.emulator(replace(request, method="GET", body=b""))

    def _tag(self, response: Response) -> str:
        return self.weak + '"' + hashlib.sha256(response.body).hexdigest()[:8] + '"'

    def _tagged(self, response: Response) -> Response:
        if response.status != 200:
            return response
        if self.as_header:
            return replace(response, headers={**response.headers, "etag": self._tag(response)})
        body: Mapping[str, Any] = json.loads(response.body) | {"etag": self._tag(response)}
        return replace(response, body=json.dumps(body).encode())


def foreign(body: dict[str, Any]) -> None:
    body.update(FOREIGN)


def tags(body: dict[str, Any]) -> None:
    body["tags"] = {"team": "heart"}


@pytest.mark.parametrize("as_header", [False, True], ids=["body", "header"])
def test_a_write_in_the_last_moment_is_kept(*, as_header: bool) -> None:
    service = Tagged(emulated(), as_header)
    backend = azure(service, SCOPE).backend
    applied(backend, endpoint())
    work = planned(backend, endpoint(description="new")).work
    service.others = [foreign]
    events = carried_out(work, backend)
    assert writes(events) == ["update batch-endpoint/heart-batch"]
    assert backend.read([ENDPOINT])[ENDPOINT].body["sku"] == FOREIGN["sku"]
    assert len(set(service.conditions)) == 3  # none for the creation, and two etags
    assert planned(backend, endpoint(description="new")).plan.empty


def test_a_change_that_the_plan_knows_makes_it_stale_at_the_last_moment_too() -> None:
    service = Tagged(emulated())
    backend = azure(service, SCOPE).backend
    applied(backend, endpoint())
    work = planned(backend, endpoint(description="new")).work
    service.others = [tags]
    (*_, last) = carried_out(work, backend)
    assert isinstance(last.error, Stale)
    assert backend.read([ENDPOINT])[ENDPOINT].body["tags"] == {"team": "heart"}


def test_a_service_that_others_write_to_all_the_time_is_not_asked_for_ever() -> None:
    service = Tagged(emulated())
    backend = azure(service, SCOPE).backend
    applied(backend, endpoint())
    work = planned(backend, endpoint(description="new")).work

    def count(body: dict[str, Any]) -> None:
        body["sku"] = {"name": str(len(service.others))}

    service.others = [count] * 9
    (*_, last) = carried_out(work, backend, retry=RetryOptions(attempts=3))
    assert (last.state, getattr(last.error, "status", 0)) == (StepState.FAILED, 412)
    assert len(service.conditions) == 1 + 3


def test_a_weak_etag_of_a_header_is_not_used() -> None:
    service = Tagged(emulated(), as_header=True, weak="W/")
    backend = azure(service, SCOPE).backend
    applied(backend, endpoint())
    applied(backend, endpoint(description="new"))
    assert service.conditions == [None, None]
