"""Builders: an emulator in memory, a question, its answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mlctl.emulator import Emulator, EmulatorSettings, Request, Response
from mlctl.pointer import Data
from mlctl.simulator.control_plane.state.store import Store

BASE = "https://emulator.test:8443"
VERSION = "api-version=2024-04-01"
GROUP = "/subscriptions/sub/resourceGroups/rg"
WS = f"{GROUP}/providers/Microsoft.MachineLearningServices/workspaces/ws"
CLUSTER = {"location": "eastus", "properties": {"computeType": "AmlCompute", "properties": {}}}
MODEL = {"properties": {"modelUri": "azureml://jobs/j/outputs/artifacts/paths/m/"}}


@dataclass(frozen=True)
class Answer:
    """A response, with its body read."""

    response: Response

    @property
    def status(self) -> int:
        return self.response.status

    @property
    def data(self) -> Data:
        return json.loads(self.response.body)

    @property
    def code(self) -> str:
        return str(self.data["error"]["code"])

    @property
    def names(self) -> list[str]:
        return [each["name"] for each in self.data["value"]]

    def header(self, name: str) -> str | None:
        return self.response.headers.get(name)


@dataclass
class Wall:
    """A wall clock that moves when it is told to."""

    time: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.time


@dataclass(frozen=True)
class World:
    """An emulator and the state behind it."""

    emulator: Emulator
    store: Store

    def ask(
        self,
        method: str,
        where: str,
        body: Data = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Ask for a path (with an api-version of its own, or one is added) or a whole URL."""
        url = where if where.startswith("http") else BASE + where
        if "api-version" not in url and "/mlctl/" not in url and "/blob/" not in url:
            url += ("&" if "?" in url else "?") + VERSION
        content = body if isinstance(body, bytes) else json.dumps(body).encode() if body else b""
        return Answer(self.emulator(Request.to(method, url, headers, content)))

    def get(self, where: str, **more: Any) -> Answer:
        return self.ask("GET", where, **more)

    def put(self, where: str, body: Data, **more: Any) -> Answer:
        return self.ask("PUT", where, body, **more)

    def done(self, answer: Answer) -> Answer:
        """Ask until a write is done: in virtual time, it is at the second time."""
        status, result = answer.header("azure-asyncoperation"), answer.header("location")
        if not (status or result):
            return answer
        self.get(str(status or result))
        return self.get(str(status or result))

    def made(self, where: str, body: Data) -> Answer:
        """Write and wait."""
        answer = self.put(where, body)
        assert answer.status in (200, 201), answer.data
        self.done(answer)
        return answer


def world(store: Store | None = None, **settings: Any) -> World:
    """An emulator over a cloud, a new one unless given; a bug in it fails the test."""

    def bug(error: Exception) -> None:
        raise AssertionError from error

    store = store or Store(":memory:")
    return World(Emulator(store, EmulatorSettings(bug=bug, **settings)), store)


def with_deployment(**settings: Any) -> World:
    """A cluster `cpu`, a model `m`, an endpoint `scoring` and on it a deployment `blue`."""
    here = world(**settings)
    here.made(f"{WS}/computes/cpu", CLUSTER)
    here.made(f"{WS}/models/m/versions/1", MODEL)
    here.made(f"{WS}/batchEndpoints/scoring", {"location": "eastus", "properties": {}})
    here.made(f"{WS}/batchEndpoints/scoring/deployments/blue", deployment())
    return here


def deployment(**properties: Data) -> Data:
    """The body of a deployment of model `m` on cluster `cpu`."""
    model = {"assetId": f"{WS}/models/m/versions/1", "referenceType": "Id"}
    given = {"model": model, "compute": f"{WS}/computes/cpu", **properties}
    return {"location": "eastus", "properties": given}
