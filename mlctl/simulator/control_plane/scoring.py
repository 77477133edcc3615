"""Requests to online endpoints of the simulated cloud, their keys, and the logs of deployments.

A request is checked as the service checks it. Unless code is to be run (`mlctl.serving`), it is
answered with an echo that says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path

from mlctl.kinds.address import Address
from mlctl.pointer import Data, get
from mlctl.service_errors import NotFound, Permanent
from mlctl.simulator.control_plane import activity, local_paths, service
from mlctl.simulator.control_plane.state import clock
from mlctl.simulator.control_plane.state.context import StoredResource
from mlctl.simulator.control_plane.state.errors import bad
from mlctl.simulator.control_plane.state.rows import WorkspaceState
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle

_DAY = 24 * 3600  # seconds
_ALL = 100  # percent
KEY, TOKEN = "key", "amltoken"
_KEY_NAMES = ("primaryKey", "secondaryKey")


def auth_mode(endpoint: Mapping[str, Data]) -> str:
    """Return how callers of an endpoint log in: `key`, `amltoken` or `aadtoken`."""
    return str(endpoint["properties"].get("authMode") or KEY).casefold()


def keys(state: WorkspaceState, address: Address, endpoint: Mapping[str, Data]) -> dict[str, Data]:
    """Return the keys of an endpoint; none if it uses tokens.

    The first ones depend on the seed only; later ones are in its body, which nobody is shown.
    """
    if auth_mode(endpoint) != KEY:
        return dict.fromkeys(_KEY_NAMES)
    values = [state.guid(f"{name}{address}") for name in ("one", "two")]
    later_keys = endpoint["properties"].get("keys") or {}
    return dict(zip(_KEY_NAMES, values, strict=True)) | later_keys


def regenerate(workspace: WorkspaceHandle, endpoint: Address, key_type: str) -> int | None:
    """Begin to replace an endpoint's `primary` or `secondary` key; return the operation's number.

    Raises:
        ServiceError: 404, there is no such endpoint; 400, there is no key of that type.
    """
    state = workspace.current
    body = json.loads(json.dumps(_read(workspace, endpoint).body))
    name = f"{key_type.casefold()}Key"
    if name not in _KEY_NAMES:
        raise bad(f"The endpoint `{endpoint.name}` has no key of type `{key_type}`.")
    old_key = keys(state, endpoint, body)[name]
    new_key = {name: state.guid(f"{old_key}{endpoint}")}
    body["properties"]["keys"] = (body["properties"].get("keys") or {}) | new_key
    return service.put(workspace, endpoint, body).operation


def token(state: WorkspaceState, address: Address) -> dict[str, Data]:
    """Return a token for an endpoint, for a day; callers should refresh it after half of it."""
    now = int(clock.EPOCH.timestamp() + state.now)
    times = {"expiryTimeUtc": now + _DAY, "refreshAfterTimeUtc": now + _DAY // 2}
    return {"accessToken": state.guid(f"token{address}"), "tokenType": "Bearer", **times}


def credentials(workspace: WorkspaceHandle, endpoint: Address) -> dict[str, Data]:
    """Return the keys of an endpoint, or a token if it uses tokens."""
    body, state = _read(workspace, endpoint).body, workspace.current
    by_key = auth_mode(body) == KEY
    return keys(state, endpoint, body) if by_key else token(state, endpoint)


def score(
    workspace: WorkspaceHandle, endpoint: Address, deployment: str | None, request: Data
) -> dict[str, Data]:
    """Echo a request, by the named deployment, else by the one with most traffic."""
    chosen = choose(workspace, endpoint, deployment).address.name
    remark = "an echo: no code was run"
    return {"mlctl": remark, "endpoint": endpoint.name, "deployment": chosen, "request": request}


def choose(
    workspace: WorkspaceHandle, endpoint: Address, deployment: str | None, draw: float | None = None
) -> StoredResource:
    """Choose the deployment that answers: the named one, else by the traffic.

    `draw` is a number from 0 to 1 by which one is drawn; None takes the one with most traffic.

    Raises:
        NotFound: there is no such endpoint or deployment.
        Permanent: no deployment gets traffic, or the one that does cannot answer.
    """
    traffic = get(_read(workspace, endpoint).body, ("properties", "traffic")) or {}
    chosen = deployment or max(traffic, key=lambda name: traffic[name], default=None)
    if draw is not None and not deployment and traffic:
        reached = zip(traffic, accumulate(traffic.values()), strict=True)
        chosen = next((name for name, upto in reached if draw * _ALL < upto), chosen)
    if chosen is None or not (deployment or traffic[chosen]):
        raise Permanent(
            "NoTraffic",
            f"No deployment of {endpoint} gets traffic. Name one by --deployment-name, or send"
            f" traffic: online-endpoint update -n {endpoint.name} --traffic NAME=100",
            status=404,
        )
    resource = _read(workspace, Address("online-deployment", chosen, endpoint.name))
    if resource.state != "Succeeded":
        text = f"{resource.address} is {resource.state}: it answers once it is Succeeded"
        raise Permanent("DeploymentNotReady", text, status=503)
    return resource


def log_file(workspace: WorkspaceHandle, deployment: Address) -> Path | None:
    """Return the file for what a deployment's code prints; None for a cloud in memory."""
    folder = local_paths.code_folder(workspace.store)
    name = f"{workspace.scope.workspace}-{deployment.parent}-{deployment.name}.txt".casefold()
    return folder / name if folder else None


def logs(workspace: WorkspaceHandle, deployment: Address, lines: int) -> str:
    """Return a deployment's last events, one a line, and what its code has printed, if it ran."""
    _read(workspace, deployment)
    entries = activity.list_of_resource(workspace, deployment.id(workspace.scope))
    events = [
        f"{clock.iso(entry.at)} {deployment.name} {entry.verb}"
        + (f" by {entry.caller}" if entry.caller else "")
        for entry in reversed(entries)
    ]
    file = log_file(workspace, deployment)
    if file is not None and file.is_file():
        events += file.read_text(errors="replace").splitlines()
    return "".join(f"{event}\n" for event in events[-lines:])


def _read(workspace: WorkspaceHandle, address: Address) -> StoredResource:
    resource = service.read(workspace, [address]).get(address)
    if resource is None:
        raise NotFound("ResourceNotFound", f"There is no {address}.", status=404)
    return resource
