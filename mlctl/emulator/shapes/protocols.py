"""How the providers of the service announce long-running operations, as recorded; other headers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from mlctl import source
from mlctl.dataclasses import dataclass, field
from mlctl.emulator.http.messages import Request, Response
from mlctl.emulator.requests.call import Call
from mlctl.kinds.address import PROVIDER
from mlctl.simulator.control_plane.resources import operations

TIMEOUT = {"x-ms-async-operation-timeout": "PT30M"}
_NAMED = ("id", "name", "status")


@dataclass(frozen=True, slots=True)
class Protocol:
    """The form of a kind's operations.

    - `status`, `result`: the path segments of the URLs of `Azure-AsyncOperation` and `Location`.
    - `prefix`: what a public id begins with, before the workspace's and the operation's own; ""
      where that is the operation's own alone.
    - `query`: what the URLs ask for, beside the api-version.
    - `digest`: whether the operation's own is a digest, not a GUID.
    - `running`, `deleting`: the words for an operation, and a deletion, that goes on.
    - `keys`, `last_keys`: what a status has while it goes on, and in the end.
    - `percent`: what `percentComplete` is in the end.
    - `named_by_result`: whether its `id` is the URL of the result.
    - `status_as_result`: whether the result is the status, too; a PATCH then leads to that alone.
    - `headers`: further headers of an answer that begins an operation.
    - `locates`: whether `Location` is sent, too: of a PUT the resource, of a DELETE the result.
    - `overwritten`: the status of a PUT over what is there.
    """

    status: str = "mfeOperationsStatus"
    result: str = "mfeOperationResults"
    prefix: str = ""
    digest: bool = False
    query: Mapping[str, str] = field(default_factory=dict)
    running: str = "Updating"
    deleting: str = "Updating"
    keys: Sequence[str] = _NAMED
    last_keys: Sequence[str] = _NAMED
    percent: float = 100.0
    named_by_result: bool = False
    status_as_result: bool = False
    headers: Mapping[str, str] = field(default_factory=lambda: TIMEOUT)
    locates: bool = True
    overwritten: int = 200


@cache
def protocol_of(kind: str) -> Protocol:
    """The protocol of a kind."""
    return Protocol(**_table().get(kind, {}))


@cache
def _table() -> Mapping[str, Any]:
    table: dict[str, Any] = source.plain(Path(__file__).with_suffix(".yml").read_text("utf-8"))
    return table


def operation_url(
    call: Call,
    kind: str,
    number: int,
    *,
    located: bool = False,
    query: Mapping[str, str] | None = None,
) -> str:
    """The URL of the status of an operation (`located`: of its result), by its number."""
    state, protocol = call.state, protocol_of(kind)
    token = operations.token(state.seed, number, digest=protocol.digest)
    if protocol.prefix:
        token = f"{protocol.prefix}:{call.guid('workspace')}:{token}"
    segment = protocol.result if located else protocol.status
    return _url(call, segment, token, {**protocol.query, **(query or {})})


def result_url(call: Call, token: str) -> str:
    """The URL of the result of what has no status."""
    return _url(call, Protocol().result, token, {})


def _url(call: Call, segment: str, token: str, query: Mapping[str, str]) -> str:
    state = call.state
    place = f"/subscriptions/{state.scope.subscription}/providers/{PROVIDER}"
    return call.url(f"{place}/locations/{state.location}/{segment}/{token}", query)


_OF_SERVICE = re.compile(
    r"/providers/Microsoft\.MachineLearningServices/(workspaces($|/)|locations/)", re.IGNORECASE
)
_ELSEWHERE = re.compile(r"/providers/Microsoft\.(?!MachineLearningServices)", re.IGNORECASE)
_DEPLOYMENT = re.compile(r"/deployments/[^/]+$", re.IGNORECASE)
_LIMIT = "x-ms-ratelimit-remaining-subscription-"
# How many calls are left in the subscription, and in the tenant. An emulator has no limit, unless
# a fault says so: the numbers are those of a subscription that has just begun.
_LEFT: Mapping[str, tuple[str, int, int]] = {
    "GET": ("reads", 249, 3749),
    "DELETE": ("deletes", 199, 2999),
}
_WRITES = ("writes", 199, 2999)
_DEPLOYMENTS_LEFT = 24  # writes of deployments have a limit of their own
_FIRST_ERROR = 400


def is_of_service(request: Request) -> bool:
    """Whether the provider of Azure Machine Learning answers, not the resource manager."""
    matches = [*_OF_SERVICE.finditer(request.path)]
    return bool(matches) and not _ELSEWHERE.search(request.path, matches[-1].start() + 1)


def service_headers(request: Request, response: Response) -> dict[str, str]:
    """The headers of an answer: whether it is an error, and how many calls are left."""
    from_gateway = "x-ms-failure-cause" in response.headers
    if not is_of_service(request) or from_gateway:
        return {}
    kind = "error" if response.status >= _FIRST_ERROR and response.body else "standard"
    if request.method in ("PUT", "PATCH") and _DEPLOYMENT.search(request.path):
        limits = {f"{_LIMIT}resource-requests": _DEPLOYMENTS_LEFT}
    else:
        name, remaining, of_tenant = _LEFT.get(request.method, _WRITES)
        limits = {f"{_LIMIT}{name}": remaining, f"{_LIMIT}global-{name}": of_tenant}
    return {
        "x-ms-response-type": kind,
        **{key: str(count) for key, count in limits.items()},
    }
