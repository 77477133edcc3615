"""The table of routes: methods, path patterns and their handlers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from urllib.parse import unquote

from mlctl.dataclasses import dataclass
from mlctl.emulator import data_plane
from mlctl.emulator.arm import (
    assets,
    authorization,
    capacity,
    faults,
    jobs,
    monitor,
    operations,
    prices,
    registries,
    resources,
    run_history,
    workspaces,
)
from mlctl.emulator.http.messages import HttpError, Response
from mlctl.emulator.identity import tokens
from mlctl.emulator.mlflow import tracking
from mlctl.emulator.requests.call import Call
from mlctl.emulator.storage import blobs, uploads
from mlctl.kinds import ALL, Kind
from mlctl.kinds.registry import arm_type
from mlctl.service_errors import NotFound, Permanent

Handler = Callable[[Call], Response]


class Needs(Enum):
    """What a request must carry."""

    VERSION = "the token, where one is set, and an api-version"
    TOKEN = "the token, where one is set"  # noqa: S105 - words
    NOTHING = "nothing, or the handler checks it"


@dataclass(frozen=True, slots=True)
class Route:
    """`pattern` has names in braces; a name with a star matches any number of segments."""

    methods: str
    pattern: str
    handler: Handler
    kind: str = ""
    needs: Needs = Needs.VERSION


_TOKEN, _NOTHING = Needs.TOKEN, Needs.NOTHING
_SUB = "/subscriptions/{subscription}"
_GROUP = _SUB + "/resourceGroups/{group}"
_ML = "/providers/Microsoft.MachineLearningServices"
_WS = _GROUP + _ML + "/workspaces/{workspace}"
_COMPUTE = _WS + "/computes/{name}"
_ENDPOINTS = _WS + "/batchEndpoints"
_DEPLOYMENTS = _ENDPOINTS + "/{parent}/deployments"
_ONLINE = _WS + "/onlineEndpoints"
_SKUS = _ONLINE + "/{parent}/deployments/{name}/skus"
_STORES = _WS + "/datastores"
_PLACE = _SUB + _ML + "/locations/{location}"
_AUTH = "{scope*}/providers/Microsoft.Authorization"
_STORED = "{scope*}" + _ML + "/registries/{registry}"
_REGISTRY = _STORED + "/{collection}"
_REGISTERED = _REGISTRY + "/{name}"
_HISTORY = run_history.ROOT + _WS
_RUNS = _HISTORY + "/runs"
_INSTANCES = _RUNS + "/{name}/serviceinstances"
_EXPERIMENT = _HISTORY + "/experiments/{experiment}"
_DATA = "/data/v1.0" + _WS + "/dataversion"
_INSIGHTS = "/providers/Microsoft.Insights"
_MANAGED = "/registrymanagement/v1.0/registries"
_SCORED = "/online/{subscription}/{group}/{workspace}/{parent}"
_ENTRA = "/{tenant}/oauth2"
_OPENID = "/{tenant}/v2.0/.well-known/openid-configuration"
_BLOBS = "/blob/{account}/{container}"


# Collections of a workspace that mlctl has nothing of: they are empty.
_ELSEWHERE = (
    "featuresets",
    "featurestoreEntities",
    "serverlessEndpoints",
    "marketplaceSubscriptions",
    "capabilityHosts",
    "inferencePools",
    "privateEndpointConnections",
    "outboundRules",
)


def _kind_routes() -> Iterator[Route]:
    """Return the routes of every kind that ARM has, except jobs."""
    for kind in ALL.values():
        if kind.arm.hosted and not kind.runs and not kind.arm.within:
            yield from _asset_routes(kind.name) if kind.versioned else _resource_routes(kind)


def _resource_routes(kind: Kind) -> Iterator[Route]:
    name = kind.name
    pattern = f"{_WS}/{arm_type(name).replace('/', '/{parent}/')}"
    yield Route("GET", pattern, resources.show_all, name)
    item = pattern + "/{name}"
    yield Route("GET", item, resources.show, name)
    yield Route("PUT", item, resources.write, name)
    yield Route("PATCH", item, resources.patch, name)
    yield Route("DELETE", item, resources.delete, name)


def _asset_routes(kind: str) -> Iterator[Route]:
    every = f"{_WS}/{ALL[kind].collection}"
    yield Route("GET", every, assets.show_containers, kind)
    item = every + "/{name}"
    yield Route("GET", item, assets.show_container, kind)
    yield Route("PUT", item, assets.write_container, kind)
    yield Route("DELETE", item, assets.delete_container, kind)
    yield Route("GET", item + "/labels/{label}", assets.show_label, kind)
    yield Route("GET", item + "/versions", assets.show_versions, kind)
    version = item + "/versions/{version}"
    yield Route("GET", version, assets.show_version, kind)
    yield Route("PUT", version, assets.write_version, kind)
    yield Route("DELETE", version, assets.delete_version, kind)
    yield Route("POST", version + "/startPendingUpload", uploads.start_pending_upload, kind)


def _mlflow_routes() -> Iterator[Route]:
    for workspace in ("", "/mlflow/{api}" + _WS):
        tracked, stored = (f"{workspace}/api/2.0/{name}" for name in ("mlflow", "mlflow-artifacts"))
        path = f"{tracked}/{{what*}}"
        yield Route("GET POST PATCH DELETE", path, tracking.handle, needs=_TOKEN)
        for path in (f"{stored}/artifacts", f"{stored}/artifacts/{{path*}}"):
            yield Route("GET PUT DELETE", path, tracking.artifact, needs=_TOKEN)


ROUTES = (
    *_mlflow_routes(),
    Route("GET", _STORES, uploads.show_datastores, "datastore"),  # newest first, unlike others
    *_kind_routes(),
    Route("POST", _COMPUTE + "/listNodes", resources.nodes, "compute"),
    Route("GET", _WS + "/connections", workspaces.show_connections),
    Route("GET", _WS + "/connections/{name}", workspaces.show_connection),
    Route("PUT", _WS + "/connections/{name}", workspaces.write_connection),
    Route("DELETE", _WS + "/connections/{name}", workspaces.delete_connection),
    *(
        Route("POST", f"{_COMPUTE}/{action}", resources.switch_power, "compute")
        for action in ("start", "stop", "restart")
    ),
    Route("POST", _COMPUTE + "/updateIdleShutdownSetting", resources.set_idle, "compute"),
    Route("POST", _COMPUTE + "/enableSso", workspaces.accept_needless, "compute"),
    Route("POST", "/inference/{parent}/{action}", data_plane.at_host, needs=_NOTHING),
    Route("POST", _ONLINE + "/{name}/listKeys", resources.keys, "online-endpoint"),
    Route("POST", _ONLINE + "/{name}/regenerateKeys", resources.regenerate_keys, "online-endpoint"),
    Route("POST", _ONLINE + "/{name}/token", resources.token, "online-endpoint"),
    Route("POST", _SKUS.removesuffix("skus") + "getLogs", resources.logs, "online-deployment"),
    Route("GET", _SKUS, resources.skus, "online-deployment"),
    Route("GET", _PLACE + "/computeOperationsStatus/{token}", operations.status),
    Route("GET", _PLACE + "/computeOperationsResults/{token}", operations.result),
    Route("GET", _PLACE + "/mfeOperationsStatus/{token}", operations.status),
    Route("GET", _PLACE + "/mfeOperationResults/{token}", jobs.result),
    Route("GET", _PLACE + "/usages", capacity.usages),
    Route("GET", _PLACE + "/quotas", capacity.quotas),
    Route("POST", _PLACE + "/updateQuotas", capacity.update_quotas),
    Route("GET", _PLACE + "/vmSizes", capacity.sizes),
    Route("POST", _ENDPOINTS + "/{parent}/jobs", jobs.invoke, needs=_TOKEN),
    Route("GET", _ENDPOINTS + "/{parent}/jobs", jobs.show_all),
    Route("GET", _DEPLOYMENTS + "/{deployment}/jobs", jobs.show_all),
    Route("GET", _WS + "/jobs", jobs.show_all),
    Route("GET", _WS + "/jobs/{name}", jobs.show),
    Route("PUT", _WS + "/jobs/{name}", jobs.create),
    Route("POST", _WS + "/jobs/{name}/cancel", jobs.cancel),
    Route("GET", _RUNS + "/{name}", run_history.show, needs=_TOKEN),
    Route("PATCH", _EXPERIMENT + "/runs/{name}", run_history.modify, needs=_TOKEN),
    Route("GET", _INSTANCES + "/{node}", workspaces.show_services, needs=_TOKEN),
    Route("GET", "/genericasset" + _WS + "/{collection}", workspaces.show_none, needs=_TOKEN),
    Route("GET", _RUNS + "/{name}/details", run_history.details, needs=_TOKEN),
    Route("GET", _RUNS + "/{name}/children", run_history.children, needs=_TOKEN),
    Route("GET", _RUNS + "/{name}/logs/{log*}", run_history.log, needs=_NOTHING),
    Route("POST", _HISTORY + "/rundata", run_history.run_data, needs=_TOKEN),
    Route("POST", _DATA + "/batchGetResolvedUris", run_history.resolve_uris, needs=_TOKEN),
    Route("GET", _WS + _INSIGHTS + "/metrics", monitor.show_metrics),
    Route("POST", _WS + "/schedules/{name}/trigger", jobs.trigger, "schedule"),
    Route("POST", _STORES + "/{name}/listSecrets", uploads.secrets, "datastore"),
    Route("GET", _WS, workspaces.show),
    Route("PUT", _WS, workspaces.create),
    Route("PATCH", _WS, workspaces.change),
    Route("DELETE", _WS, workspaces.delete),
    Route("POST", _WS + "/listKeys", workspaces.keys),
    Route("POST", _WS + "/diagnose", workspaces.diagnose),
    Route("POST", _WS + "/resyncKeys", workspaces.accept_needless),
    *(Route("GET", f"{_WS}/{name}", workspaces.show_none) for name in _ELSEWHERE),
    *(Route("GET PUT DELETE", f"{_WS}/{name}/{{name}}", workspaces.refuse) for name in _ELSEWHERE),
    Route("POST", _WS + "/provisionManagedNetwork", workspaces.provision_network),
    Route("GET", _GROUP + _ML + "/workspaces", workspaces.show_all),
    Route("GET", _SUB + _ML + "/workspaces", workspaces.show_all),
    Route("GET", _GROUP + "/resources", workspaces.show_all),
    Route("GET", _SUB + "/resources", workspaces.show_all),
    Route("GET", _GROUP, workspaces.group),
    Route("GET", _SUB + "/resourceGroups", workspaces.groups),
    Route("GET", _SUB + "/providers", workspaces.providers),
    Route("GET", _SUB + "/providers/{namespace}", workspaces.provider),
    Route("POST", _SUB + "/providers/{namespace}/register", workspaces.provider),
    Route("GET", _SUB, workspaces.subscription),
    Route("GET", "/subscriptions", workspaces.subscriptions),
    Route("GET", "/tenants", workspaces.tenants),
    Route("GET", _AUTH + "/locks", authorization.show_locks),
    Route("GET", _AUTH + "/locks/{name}", authorization.show_lock),
    Route("PUT", _AUTH + "/locks/{name}", authorization.put_lock),
    Route("DELETE", _AUTH + "/locks/{name}", authorization.delete_lock),
    Route("GET", _AUTH + "/permissions", authorization.permissions),
    Route("GET", "{scope*}" + _INSIGHTS + "/metrics", monitor.show_no_metrics),
    Route("GET", _SUB + _INSIGHTS + "/eventtypes/management/values", monitor.show_activity),
    *(
        Route(method, f"{_GROUP}/providers/Microsoft.{sort}/{{name}}", workspaces.show_companion)
        for sort in workspaces.BESIDE
        for method in ("GET", "DELETE")
    ),
    Route("GET", _SUB + _ML + "/registries", registries.show_all),
    Route("GET", _GROUP + _ML + "/registries", registries.show_all),
    Route("GET", _GROUP + _ML + "/registries/{registry}", registries.show),
    Route("PUT", _GROUP + _ML + "/registries/{registry}", registries.create),
    Route("DELETE", _GROUP + _ML + "/registries/{registry}", registries.delete),
    Route("PUT", _STORED + "/tempdatarefs/{name}/versions/{version}", registries.upload),
    Route("POST", _STORED + "/datarefs/{name}/versions/{version}", registries.reference),
    Route("POST", _STORED + "/import", registries.import_asset),
    Route("GET", _REGISTRY, registries.containers),
    Route("PUT", _REGISTERED, registries.write_container),
    Route("PUT", _REGISTERED + "/versions/{version}", registries.write),
    Route("GET", _REGISTERED, registries.container),
    Route("GET", _REGISTERED + "/versions", registries.versions),
    Route("GET", _REGISTERED + "/versions/{version}", registries.version),
    Route("GET", _REGISTERED + "/labels/{label}", registries.label),
    Route("GET", _MANAGED + "/{registry}/discovery", registries.discovery, needs=_TOKEN),
    Route("POST", "/providers/Microsoft.ResourceGraph/resources", prices.query),
    Route("GET", "/api/retail/prices", prices.show, needs=_NOTHING),
    Route("GET", "/discovery", workspaces.discovery, needs=_NOTHING),
    Route("GET", "/metadata/endpoints", tokens.clouds, needs=_NOTHING),
    Route("GET", "/metadata/identity/oauth2/token", tokens.imds, needs=_NOTHING),
    Route("GET", "/msi/token", tokens.app_service, needs=_NOTHING),
    Route("POST", _ENTRA + "/token", tokens.entra, needs=_NOTHING),
    Route("POST", _ENTRA + "/v2.0/token", tokens.entra, needs=_NOTHING),
    Route("GET", "/common/discovery/instance", tokens.instances, needs=_NOTHING),
    Route("GET", _OPENID, tokens.openid, needs=_NOTHING),
    Route("GET", "/blob", blobs.handle, needs=_NOTHING),
    Route("GET PUT DELETE", _BLOBS, blobs.handle, needs=_NOTHING),
    Route("GET PUT DELETE", _BLOBS + "/{blob*}", blobs.handle, needs=_NOTHING),
    Route("GET", _SCORED, data_plane.health, needs=_NOTHING),
    Route("GET POST", _SCORED + "/score", data_plane.score, needs=_NOTHING),
    Route("GET", _SCORED + "/swagger.json", data_plane.describe, needs=_NOTHING),
    Route("GET", "/mlctl/faults", faults.show, needs=_TOKEN),
    Route("POST", "/mlctl/faults", faults.add, needs=_TOKEN),
    Route("DELETE", "/mlctl/faults", faults.clear, needs=_TOKEN),
)


def find(method: str, path: str) -> tuple[Route, dict[str, str]]:
    """The route of a path and the values of its names; HEAD is routed as GET."""
    routed = "GET" if method == "HEAD" else method
    parts = _split(path)
    allowed: set[str] = set()
    for route, names in _matches(parts):
        methods = route.methods.split()
        if routed in methods:
            return route, names
        allowed |= set(methods)
    if allowed:
        methods_text = ", ".join(sorted(allowed))
        text = f"The method {method} is not allowed here; allowed: {methods_text}."
        raise HttpError("MethodNotAllowed", text, status=405, headers={"allow": methods_text})
    shown_path = "/" + "/".join(parts)
    raise NotFound("InvalidResourceType", f"There is no resource type at '{shown_path}'.")


_LONGEST = 1024
_BAD = re.compile(r"[\x00-\x1f\x7f\ufffd\\]")


def _split(path: str) -> list[str]:
    """The segments of a path, decoded; empty ones are ignored."""
    parts = [unquote(part) for part in path.split("/") if part]
    for part in parts:
        slash = "/" in part and parts[0] != blobs.ROOT
        if slash or len(part) > _LONGEST or _BAD.search(part):
            raise Permanent("InvalidResourceName", f"{part[:80]!r} is no name in a path.")
    return parts


def _matches(parts: Sequence[str]) -> Iterator[tuple[Route, dict[str, str]]]:
    folded = [part.casefold() for part in parts]
    for route, steps in _BY_LENGTH.get(len(parts), ()):
        if _fits(steps, folded):
            yield route, _read_names(steps, parts)
    for route, steps in _STARRED:
        star_length = len(parts) - len(steps) + 1
        if star_length < 0:
            continue
        at = next(at for at, step in enumerate(steps) if step.endswith("*}"))
        fit = [*parts[:at], "/".join(parts[at : at + star_length]), *parts[at + star_length :]]
        if _fits(steps, [part.casefold() for part in fit]):
            yield route, _read_names(steps, fit)


def _fits(steps: Sequence[str], folded: Sequence[str]) -> bool:
    return all(step == part or step[0] == "{" for step, part in zip(steps, folded, strict=True))


def _read_names(steps: Sequence[str], parts: Sequence[str]) -> dict[str, str]:
    return {
        step.strip("{*}"): part for step, part in zip(steps, parts, strict=True) if step[0] == "{"
    }


def _steps(route: Route) -> list[str]:
    parts = [part for part in route.pattern.split("/") if part]
    return [part if part[0] == "{" else part.casefold() for part in parts]


def _by_length() -> dict[int, list[tuple[Route, list[str]]]]:
    out: dict[int, list[tuple[Route, list[str]]]] = {}
    for route in ROUTES:
        if "*}" not in route.pattern:
            out.setdefault(len(_steps(route)), []).append((route, _steps(route)))
    return out


_BY_LENGTH = _by_length()
_STARRED = [(route, _steps(route)) for route in ROUTES if "*}" in route.pattern]
