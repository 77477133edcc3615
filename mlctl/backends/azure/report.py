"""Report the form of the service's answers to a few reads, for `mlctl doctor --report`.

Only the form is kept: status, codes of errors, names of headers, keys of the body and the types of
their values. Ids, names, tags and all other values are left out, so that a user with a subscription
can send it, and settle what docs/azure.md calls open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mlctl.backends.azure import errors
from mlctl.backends.azure.arm import VERSION, ArmClient, path_of
from mlctl.backends.azure.reads import workspace_path
from mlctl.dataclasses import dataclass, field
from mlctl.kinds.address import PROVIDER, Scope
from mlctl.kinds.registry import ALL, children
from mlctl.pointer import Data, get
from mlctl.service_errors import ServiceError

_ABSENT = "mlctl-report-absent"
_AUTHORIZATION = "/providers/Microsoft.Authorization"
# Keys that users chose, or that are ids: they are counted, not shown.
_FREE = frozenset(
    {
        "tags",
        "environmentVariables",
        "userAssignedIdentities",
        "traffic",
        "flavors",
        "inputs",
        "outputs",
        "inputData",
        "outputData",
        "jobs",
        "services",
        "properties.properties",
    }
)
_KEY = re.compile(r"[A-Za-z@$_][\w@$-]{0,60}")
_CODE = re.compile(r"[A-Za-z][\w.]{0,80}")
_FORMS = (
    ("guid", re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")),
    ("time", re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d.*")),
    ("duration", re.compile(r"P(?=.)(\d+D)?(T[\d.HMS]+)?")),
    ("id", re.compile(r"/subscriptions/.*", re.IGNORECASE | re.DOTALL)),
    ("uri", re.compile(r"[a-z][a-z0-9+.-]*:.*", re.DOTALL)),
)


@dataclass(frozen=True, slots=True)
class Probe:
    """A read whose answer would settle an open point, named as in docs/azure.md."""

    settles: str
    what: str
    path: str
    version: str = VERSION
    query: Mapping[str, str] = field(default_factory=dict)


def probes(arm: ArmClient, scope: Scope, region: str) -> Iterator[Probe]:
    """Yield the reads in order; existing resources are named from lists."""
    workspace = workspace_path(scope)
    group = workspace.partition("/providers/")[0]
    subscription = path_of("subscriptions", scope.subscription)
    place = subscription + path_of("providers", PROVIDER, "locations", region)
    yield Probe("identity", "the workspace", workspace)
    for collection_name in ("usages", "vmSizes", "quotas"):
        yield Probe("quotas", f"the {collection_name} of its region", f"{place}/{collection_name}")
    top = [
        kind
        for kind in ALL.values()
        if kind.arm.hosted and kind.parent is None and not kind.arm.within
    ]
    for kind in top:
        collection = workspace + path_of(kind.collection)
        yield Probe("pages", f"{kind.name}: the list", collection)
        absent = collection + path_of(_ABSENT) + (path_of("versions", "1") * kind.versioned)
        yield Probe("error-codes", f"{kind.name}: one that is not there", absent)
        yield from _of_first(arm, kind.name, collection, versioned=kind.versioned)
    query = {"hash": "0" * 64, "hashVersion": "202208"}
    code = workspace + path_of("codes", _ABSENT, "versions")
    yield Probe("code-by-hash", "code by a hash that nobody has", code, query=query)
    yield Probe("locks", "the locks of the group", f"{group}{_AUTHORIZATION}/locks", "2020-05-01")
    granted = f"{workspace}{_AUTHORIZATION}/permissions"
    yield Probe("permissions", "what the caller may do", granted, "2022-04-01")
    provider = subscription + path_of("providers", PROVIDER)
    yield Probe("permissions", "the resource provider", provider, "2021-04-01")
    metrics = f"{workspace}/providers/Microsoft.Insights/metrics"
    metric_query = {"metricnames": "Active Nodes", "aggregation": "Average"}
    yield Probe("metrics", "a metric of the clusters", metrics, "2018-01-01", metric_query)


def _of_first(arm: ArmClient, kind: str, collection: str, *, versioned: bool) -> Iterator[Probe]:
    """Yield reads of the first resource in a collection, if there is a readable one."""
    try:
        first = next(iter(arm.pages(collection)), None)
    except ServiceError:
        return
    if first is None:
        return
    path = collection + path_of(str(first.get("name")))
    yield Probe("bodies", f"{kind}: the first", path)
    if versioned:
        newest = {"$orderBy": "createdtime desc", "$top": "1"}
        yield Probe(
            "newest-version",
            f"{kind}: the newest version of the first",
            f"{path}/versions",
            query=newest,
        )
        all_of_it = {"listViewType": "All"}
        yield Probe(
            "newest-version",
            f"{kind}: all versions of the first",
            f"{path}/versions",
            query=all_of_it,
        )
    for child in children(kind):
        below = child.collection
        yield Probe("bodies", f"{kind}: the {below} of the first", path + path_of(below))


def report(arm: ArmClient, scope: Scope, region: str) -> Iterator[dict[str, Data]]:
    """Yield the form of each answer, or why there was none."""
    for probe in probes(arm, scope, region):
        answers: dict[str, Data] = {
            "settles": probe.settles,
            "what": probe.what,
            "api_version": probe.version,
        }
        try:
            status, headers, body = arm.look(probe.path, probe.version, probe.query)
        except ServiceError as error:
            yield {**answers, "failed": error.code}
            continue
        names = sorted({name.lower() for name in headers})
        answers |= {"status": status, "codes": list(_codes(body)), "headers": names}
        yield {**answers, "body": form(body)}


def form(data: Data, name: str = "") -> Data:
    """Return the keys of plain data and the types of its values; `name` is its own key.

    Lists become their length and the forms of their items; keys that users chose become their
    number.
    """
    if isinstance(data, dict):
        if name in _FREE or not all(_KEY.fullmatch(str(key)) for key in data):
            return {"keys": len(data)}
        return {key: form(entry, _within(name, key, entry)) for key, entry in data.items()}
    if isinstance(data, list):
        forms: list[Data] = []
        for item in data:
            if (item_form := form(item, name)) not in forms:
                forms.append(item_form)
        return {"items": len(data), "forms": forms}
    if isinstance(data, str):
        return next((form_name for form_name, pattern in _FORMS if pattern.fullmatch(data)), "text")
    return None if data is None else "boolean" if isinstance(data, bool) else "number"


def _within(above: str, key: str, value: Data) -> str:
    """Whether `properties` within `properties` are the user's texts, unlike those of computes."""
    owned = isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
    return "properties.properties" if above == key == "properties" and owned else key


def _codes(body: Data) -> Iterator[str]:
    """Yield the codes of an error, outermost first; anything else is left out."""
    error = get(body, ("error",))
    inner = errors.inner_codes(error) if isinstance(error, dict) else ()
    while isinstance(error, dict):
        yield from _code(error.get("code"))
        error = error.get("innererror") or error.get("innerError")
    for code in inner:
        yield from _code(code)


def _code(code: Data) -> Iterator[str]:
    if isinstance(code, str) and _CODE.fullmatch(code):
        yield code
