"""Builders: a small service that does what Azure was seen to do and the emulator may not, and a
recording proxy before it: a second pair of eyes for requests."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from mlctl.emulator import Request, Response
from mlctl.kinds.address import Scope
from mlctl.pointer import Data
from tests.builders.azure import SCOPE, no, says

_LABEL = re.compile(r"(azureml://registries/.+)/labels/[^/]+")
_RESOLVED = "14"  # what every label of a registry stands for
_DEPLOYMENT = re.compile(r".*/onlineendpoints/[^/]+/deployments/[^/]+")
_ENDPOINT = re.compile(r".*/(online|batch)endpoints/.*")
_RESOURCE = re.compile(r"/subscriptions/[^/]+/resourcegroups/[^/]+/providers/[^/]+/workspaces/.+")


@dataclass
class Exchange:
    """A request as the proxy saw it, and the status of the answer."""

    method: str
    path: str
    query: dict[str, str]
    body: Any
    status: int

    @property
    def name(self) -> str:
        """The last two parts of the path: `deployments/blue`."""
        return "/".join(self.path.split("/")[-2:])

    def __str__(self) -> str:
        return f"{self.method} {self.name} {self.status}"


@dataclass
class Recorder:
    """A proxy that keeps every exchange."""

    service: Callable[[Request], Response]
    exchanges: list[Exchange] = field(default_factory=list)

    def __call__(self, request: Request) -> Response:
        response = self.service(request)
        body = json.loads(request.body) if request.body else None
        exchange = Exchange(
            request.method, request.path, dict(request.query), body, response.status
        )
        self.exchanges.append(exchange)
        return response

    def writes(self) -> list[str]:
        """What was written, and with which status."""
        return [str(one) for one in self.exchanges if one.method in ("PUT", "PATCH", "DELETE")]

    def bodies(self, name: str) -> list[Any]:
        """The bodies that were accepted under a name."""
        return [
            one.body
            for one in self.exchanges
            if (one.method, one.name) == ("PUT", name) and one.status < 300
        ]


@dataclass
class AsOnAzure:
    """A workspace that answers as Azure does.

    - Labels of registries are stored as versions.
    - An online deployment with a script gets three variables, which win over nothing: what a
      request says of them stays.
    - The first `conflicts` writes of each online endpoint and deployment are 409 `Conflict`; while
      an operation is polled, every other write under its endpoint is, too.
    - After a write the first `stale` reads show what was there before, as Succeeded.
    - Links begin with `links`, which may spell the host otherwise.
    - Every write of an online resource has an `AzureAsyncOperationUri` of its own.
    """

    scope: Scope = SCOPE
    conflicts: int = 0
    stale: int = 0
    links: str = ""  # what links begin with; "" is what requests begin with
    code: str = "Conflict"
    bodies: dict[str, dict[str, Any]] = field(default_factory=dict)
    _refused: Counter[str] = field(default_factory=Counter)
    _previous: dict[str, list[dict[str, Any] | None]] = field(default_factory=dict)
    _operations: dict[str, str] = field(
        default_factory=dict
    )  # path of status -> endpoint in motion
    _count: int = 0
    _working: Lock = field(default_factory=Lock)

    def __call__(self, request: Request) -> Response:
        with self._working:
            return self._answer(request)

    def _answer(self, request: Request) -> Response:
        path = request.path.casefold()
        if "/mfeoperationsstatus/" in path:
            self._operations.pop(path, None)
            return says(200, {"id": request.path, "name": "n", "status": "Succeeded"})
        if not _RESOURCE.fullmatch(path):
            return says(200, {"value": []}) if "/locations/" in path else no(404, "NotFound")
        handler = getattr(self, f"_{request.method.lower()}", None)
        return handler(request, path) if handler else no(405)

    def _get(self, request: Request, path: str) -> Response:
        if path == self.scope.id.casefold():
            return says(200, {"id": self.scope.id, "name": "ws", "location": "eastus"})
        waiting = self._previous.get(path)
        if waiting:
            previous = waiting.pop()
            return says(200, previous) if previous else no(404, "NotFound")
        if path in self.bodies:
            return says(200, self.bodies[path])
        above = path.rpartition("/")[0]
        of_nothing = above != self.scope.id.casefold() and above not in self.bodies
        children = [body for at, body in self.bodies.items() if at.rpartition("/")[0] == path]
        is_collection = path.removeprefix(self.scope.id.casefold()).count("/") % 2
        if not is_collection or (of_nothing and not children):
            return no(404, "NotFound")
        return says(200, {"value": children})

    def _put(self, request: Request, path: str) -> Response:
        refused = self._refuse(path)
        if refused:
            return refused
        old, body = self.bodies.get(path), json.loads(request.body)
        body["id"], body["name"] = request.path, request.path.rpartition("/")[2]
        properties = body["properties"]
        for key, value in properties.items():
            if isinstance(value, str):
                properties[key] = _LABEL.sub(rf"\1/versions/{_RESOLVED}", value)
        properties["provisioningState"] = "Succeeded"
        headers = {}
        if _ENDPOINT.fullmatch(path):
            self._count += 1
            status = f"/subscriptions/{self.scope.subscription}/mfeOperationsStatus/{self._count}"
            link = f"{self.links or request.base}{status}"
            headers = {"Azure-AsyncOperation": f"{link}?api-version=2024-04-01"}
            self._operations[status.casefold()] = _endpoint_of(path)
            own = properties.setdefault("properties", {})
            own["AzureAsyncOperationUri"] = link
        if _DEPLOYMENT.fullmatch(path):
            self._add_variables(properties)
        if self.stale and old is not None:
            self._previous[path] = [old] * self.stale
        self.bodies[path] = body
        state = "Updating" if old else "Creating"
        answer = {**body, "properties": {**properties, "provisioningState": state}}
        return says(200 if old else 201, answer if headers else body, headers)

    def _delete(self, request: Request, path: str) -> Response:
        refused = self._refuse(path)
        if refused:
            return refused
        if path not in self.bodies:
            return says(204)
        for at in [at for at in self.bodies if at == path or at.startswith(f"{path}/")]:
            del self.bodies[at]
        return says(200)

    def _refuse(self, path: str) -> Response | None:
        if "/onlineendpoints/" not in path:
            return None
        moving = _endpoint_of(path) in self._operations.values()
        if not moving and self._refused[path] >= self.conflicts:
            return None
        self._refused[path] += 1
        return no(409, self.code)

    @staticmethod
    def _add_variables(properties: dict[str, Data]) -> None:
        code = properties.get("codeConfiguration")
        if not code:
            return
        model = "/".join(str(properties.get("model")).split("/")[-3::2])
        variables = {
            "AZUREML_MODEL_DIR": f"/var/azureml-app/azureml-models/{model}",
            "AZUREML_ENTRY_SCRIPT": code["scoringScript"],
            "AML_APP_ROOT": "/var/azureml-app/code",
        }
        properties["environmentVariables"] = {
            **variables,
            **properties.get("environmentVariables", {}),
        }


def _endpoint_of(path: str) -> str:
    match = re.match(r".*endpoints/[^/]+", path)
    return match[0] if match else path
