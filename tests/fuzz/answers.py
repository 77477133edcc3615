"""Answers of the service with something odd in them, to the azure backend and its commands."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from random import Random

import mlctl.backends
from mlctl.backends.ports.backend import Backend
from mlctl.emulator import Request, Response
from mlctl.simulator.control_plane.state.store import Store
from tests.builders.azure import SCOPE, azure, emulated
from tests.builders.shell import cluster
from tests.fuzz.batches import Trial
from tests.fuzz.values import encoded, mutated, mutated_bytes, word

ENDPOINT = (
    "$schema: https://azuremlschemas.azureedge.net/latest/batchEndpoint.schema.json\nname: e\n"
)
FLAGS = (
    *("--backend", "azure", "--subscription", SCOPE.subscription),
    *("-g", SCOPE.resource_group, "-w", SCOPE.workspace),
)
MODEL = "name: m\nversion: 1\npath: azureml://jobs/train/outputs/artifacts/paths/model/\n"
BEFORE = ("apply", "cpu.yml", "endpoint.yml", "--yes")
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("plan", "."),
    ("plan", ".", "-o", "json"),
    ("apply", ".", "--yes"),
    ("destroy", ".", "--yes"),
    ("compute", "list"),
    ("compute", "list", "-o", "table"),
    ("compute", "show", "-n", "cpu"),
    ("compute", "update", "-n", "cpu", "--max-instances", "3"),
    ("compute", "delete", "-n", "cpu", "--yes"),
    ("compute", "list-nodes", "-n", "cpu"),
    ("compute", "list-sizes"),
    ("compute", "metrics", "-n", "cpu"),
    ("batch-endpoint", "list"),
    ("batch-endpoint", "show", "-n", "e"),
    ("batch-endpoint", "list-jobs", "-n", "e"),
    ("batch-endpoint", "invoke", "-n", "e", "--input", "https://h/d"),
    ("model", "list", "-o", "tsv"),
    (
        "model",
        "create",
        "-n",
        "m",
        "-v",
        "2",
        "--path",
        "azureml://jobs/j/outputs/artifacts/paths/m/",
    ),
    ("job", "list"),
    ("job", "show", "-n", "j"),
    ("doctor",),
    ("doctor", "--report", "report.json"),
)
HEADERS = (
    "retry-after",
    "azure-asyncoperation",
    "location",
    "x-ms-retry-after-ms",
    "content-type",
    "date",
)


@dataclass
class Mangled:
    """A service some of whose answers are odd, from when it is told so."""

    inner: mlctl.emulator.Emulator
    random: Random
    trial: Trial
    rate: float = 0.0

    def __call__(self, request: Request) -> Response:
        response = self.inner(request)
        if self.random.random() > self.rate:
            return response
        odd = self._odd(response)
        told = (odd.status, dict(odd.headers), odd.body[:3000])
        self.trial.begin(f"{request.method} {request.path} -> {told}")
        return odd

    def _odd(self, response: Response) -> Response:
        random = self.random
        match random.randrange(6):
            case 0:
                return replace(response, body=mutated_bytes(random, response.body))
            case 1:
                status = random.choice((200, 201, 202, 204, 301, 400, 404, 409, 412, 429, 500, 503))
                return replace(response, status=status)
            case 2:
                headers = {**response.headers, random.choice(HEADERS): word(random)}
                kept = {key: "".join(filter(str.isprintable, one)) for key, one in headers.items()}
                return replace(response, headers=kept)
            case _:
                try:
                    body = json.dumps(mutated(random, json.loads(response.body)))
                except ValueError:
                    body = word(random)
                return replace(response, body=encoded(body))


def case(trial: Trial) -> None:
    """Commands on a workspace whose service begins to answer oddly."""
    cluster(trial.folder / "cpu.yml")
    (trial.folder / "endpoint.yml").write_text(ENDPOINT)
    (trial.folder / "model.yml").write_text(MODEL)
    store = Store(":memory:")
    service = Mangled(emulated(store), trial.random, trial)

    def opened(*_: object) -> Backend:
        return azure(service, limit=600.0).backend

    mlctl.backends._azure = opened  # type: ignore[assignment]
    try:
        trial.run(*BEFORE, *FLAGS)
        service.rate = trial.random.choice((0.1, 0.3, 1.0))
        for command in trial.random.sample(COMMANDS, 3):
            trial.run(*command, *FLAGS)
    finally:
        store.close()
