"""Requests to the emulator with something odd in them."""

from __future__ import annotations

import copy
import json
from random import Random
from urllib.parse import quote

from mlctl.emulator import Emulator, EmulatorSettings, Request
from mlctl.pointer import Data
from mlctl.simulator.control_plane.state.store import Store
from tests.builders.emulator import BASE, CLUSTER, MODEL, VERSION, WS, World, deployment
from tests.fuzz.batches import Broken, Trial
from tests.fuzz.values import data, encoded, mutated, mutated_bytes, places, word

INSIGHTS = f"{WS}/providers/Microsoft.Insights"
JOB: Data = {
    "properties": {
        "jobType": "Command",
        "command": "x",
        "environmentId": "e",
        "computeId": f"{WS}/computes/cpu",
        "limits": {"jobLimitsType": "Command", "timeout": "PT5M"},
        "resources": {"instanceCount": 1},
    }
}
BODIES: dict[str, Data] = {
    f"{WS}/computes/cpu": CLUSTER,
    f"{WS}/models/m/versions/1": MODEL,
    f"{WS}/environments/e/versions/1": {"properties": {"image": "ubuntu", "condaFile": "name: x"}},
    f"{WS}/codes/c/versions/1": {"properties": {"codeUri": "https://h/c"}},
    f"{WS}/data/d/versions/1": {"properties": {"dataType": "uri_file", "dataUri": "https://h/c"}},
    f"{WS}/components/p/versions/1": {"properties": {"componentSpec": {"type": "command"}}},
    f"{WS}/batchEndpoints/scoring": {"location": "eastus", "properties": {"authMode": "AADToken"}},
    f"{WS}/batchEndpoints/scoring/deployments/blue": deployment(
        retrySettings={"maxRetries": 1, "timeout": "PT30S"}, miniBatchSize=10
    ),
    f"{WS}/jobs/j": JOB,
    f"{WS}/datastores/d": {"properties": {"datastoreType": "AzureBlob", "credentials": {}}},
    f"{WS}/schedules/s": {
        "properties": {
            "displayName": "nightly",
            "trigger": {"triggerType": "Cron", "expression": "* * * * *", "timeZone": "UTC"},
            "action": {"actionType": "CreateJob", "jobDefinition": JOB["properties"]},
        }
    },
    f"{WS}/computes/mine": {
        "location": "eastus",
        "properties": {
            "computeType": "ComputeInstance",
            "properties": {"vmSize": "Standard_DS3_v2", "sshSettings": {"adminUserName": "a"}},
        },
    },
    f"{WS}/onlineEndpoints/live": {"location": "eastus", "properties": {"authMode": "Key"}},
    f"{WS}/onlineEndpoints/live/deployments/blue": {
        "location": "eastus",
        "sku": {"name": "Default", "capacity": 1},
        "properties": {"endpointComputeType": "Managed", "instanceType": "Standard_F4s_v2"},
    },
    f"{WS}/connections/c": {"properties": {"category": "Git", "target": "t", "authType": "PAT"}},
    f"{WS}/providers/Microsoft.Authorization/locks/l": {"properties": {"level": "ReadOnly"}},
    "/mlctl/faults": {"trouble": "refuse", "status": 429, "nth": 5},
    "/batchEndpoints/scoring/jobs": {"properties": {"inputData": {"i": {"uri": "https://h/c"}}}},
    "/blob/a/b/c": "content",
    WS: {"location": "eastus", "properties": {}},
    "/tenant/oauth2/v2.0/token": "client_id=a&client_secret=s3cret&scope=r/.default",
}
QUERIES = (
    *("$top", "$skipToken", "count", "$orderBy", "listViewType", "api-version", "comp", "prefix"),
    *("metricnames", "interval", "timespan", "$filter", "sig", "resource", "hash", "isDefault"),
    *("marker", "delimiter", "blockid", "aggregation"),
)
HEADERS = (
    *("range", "x-ms-range", "x-mlctl-lro", "authorization", "if-none-match", "if-match", "host"),
    *("metadata", "x-identity-header", "x-ms-client-request-id", "content-type", "expect"),
    *("content-length", "x-ms-blob-content-type", "x-ms-meta-a", "x-ms-version"),
)
MORE = (
    *(
        "/subscriptions",
        "/tenants",
        "/metadata/endpoints",
        "/msi/token",
        "/mlctl/clock",
        f"{WS}/jobs",
    ),
    *(f"{WS}/listNodes", f"{WS}/computes/cpu/listNodes", f"{INSIGHTS}/metrics", f"{WS}/usages"),
    *("/common/discovery/instance", f"{WS}/models", f"{WS}/models/m/versions", "/blob/a/b"),
    *(
        f"{WS}/datastores/workspaceblobstore/listSecrets",
        f"{WS}/codes/c/versions/1/startPendingUpload",
    ),
)
WRONG: tuple[Data, ...] = ("x", 5, ["x"], {"x": 1}, None)
COLLECTIONS = (
    *("computes", "models", "environments", "codes", "data", "components", "batchEndpoints"),
    *("onlineEndpoints", "jobs", "datastores", "schedules", "connections"),
)
METHODS = ("GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS", "X")


def case(trial: Trial) -> None:
    """Odd requests to an emulator that has something of every kind.

    Raises:
        Broken: it has a bug.
    """
    random = trial.random
    store = Store(":memory:")
    try:
        here = World(Emulator(store, EmulatorSettings(bug=_broken, strict=False)), store)
        for where, body in BODIES.items():
            here.ask("PUT", where, encoded(body) if isinstance(body, str) else body)
        for _ in range(40):
            request = odd_request(random)
            trial.begin(repr(request)[:4000])
            here.emulator(request)
        for _ in range(20):
            _write_wrong_type(trial, here)
        for collection in COLLECTIONS:
            trial.begin(f"GET {collection}")
            here.get(f"{WS}/{collection}")
    finally:
        store.close()


def _write_wrong_type(trial: Trial, here: World) -> None:
    """PUT a body one value of which has another type, and read what came of it."""
    random = trial.random
    where = random.choice([one for one, body in BODIES.items() if isinstance(body, dict)])
    body = copy.deepcopy(BODIES[where])
    box, key = random.choice(places(body))
    box[key] = random.choice(WRONG)
    trial.begin(f"PUT {where} {body}")
    here.ask("PUT", where, body)
    here.ask("GET", where)


def _broken(error: Exception) -> None:
    raise Broken(repr(error)) from error


def odd_request(random: Random) -> Request:
    """A request of which some part is odd."""
    where = random.choice((*BODIES, *BODIES, *MORE))
    if random.random() < 0.2:
        parts = where.split("/")
        parts[random.randrange(len(parts))] = quote(encoded(word(random)))
        where = "/".join(parts)
    query = dict([VERSION.split("=")])
    for _ in range(random.choice((0, 0, 1, 2))):
        query[random.choice(QUERIES)] = encoded(word(random)).decode(errors="replace")
    told = range(random.choice((0, 0, 1)))
    headers = {random.choice(HEADERS): encoded(word(random)).decode("latin-1") for _ in told}
    body = b""
    if random.random() < 0.8:
        held = random.choice(list(BODIES.values())) if random.random() < 0.1 else BODIES.get(where)
        text = held if isinstance(held, str) else json.dumps(mutated(random, held or data(random)))
        body = encoded(text)
    if random.random() < 0.05:
        body = mutated_bytes(random, body)
    return Request(random.choice(METHODS[: 5 if body else 8]), where, query, headers, body, BASE)
