"""Rules for AmlCompute clusters."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping

from mlctl import catalog, pointer
from mlctl.catalog.prices import PriceList
from mlctl.durations import parse_iso
from mlctl.kinds.address import Address
from mlctl.kinds.facts import is_low_priority
from mlctl.pointer import Data
from mlctl.service_errors import OTHER_TYPE
from mlctl.simulator.control_plane.resources import arm_body, by_schema
from mlctl.simulator.control_plane.state import clock
from mlctl.simulator.control_plane.state.context import PutRequest
from mlctl.simulator.control_plane.state.errors import bad, conflict

# REST: 3 to 32 characters (the documentation says 24, which `validate` holds people to).
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9-]{1,30}[a-zA-Z0-9]")
_OUTER_READ_ONLY = (
    "provisioningState",
    "provisioningErrors",
    "provisioningWarnings",
    "createdOn",
    "modifiedOn",
    "computeLocation",
    "isAttachedCompute",
    "resourceId",
)
_ACCOUNT = "userAccountCredentials"
_PORT = "remoteLoginPortPublicAccess"
# All fields but those of `az ml compute update`: tags, max_instances, min_instances,
# idle_time_before_scale_down, identity_type and user_assigned_identities.
_CREATE_ONLY = [
    ("location",),
    ("properties", "computeType"),
    ("properties", "description"),
    ("properties", "disableLocalAuth"),
    ("properties", "properties", _ACCOUNT, "adminUserName"),
    ("properties", "properties", _ACCOUNT, "adminUserSshPublicKey"),
    *(
        ("properties", "properties", name)
        for name in (
            "vmSize",
            "vmPriority",
            "osType",
            "subnet",
            "enableNodePublicIp",
            "isolatedNetwork",
            "virtualMachineImage",
            _PORT,
        )
    ),
]
_ATTACHED = ("VirtualMachine", "Kubernetes", "AKS", "SynapseSpark", "HDInsight", "Databricks")
_NODES_MOST = 65_000  # how-to-manage-quotas: where nodes do not communicate
_STATES = ("preparing", "running", "idle", "unusable", "leaving", "preempted")
# What the service says of the nodes of a new cluster.
_NO_NODES: Mapping[str, Data] = {
    "allocationState": "Steady",
    "currentNodeCount": 0,
    "targetNodeCount": 0,
    "nodeStateCounts": {f"{state}NodeCount": 0 for state in _STATES},
    "errors": None,
    "allocationStateTransitionTime": None,  # when it was created
}
_WORDS: Mapping[str, tuple[str, ...]] = {
    "vmPriority": ("Dedicated", "LowPriority"),
    "osType": ("Linux", "Windows"),
    _PORT: ("Enabled", "Disabled", "NotSpecified"),
}


def accept(request: PutRequest) -> dict[str, Data]:
    """Return the body to store for a PUT of a cluster.

    Raises:
        ServiceError: the request is not valid.
    """
    address, old = request.address, request.old
    if old is None and not _NAME.fullmatch(address.name):
        raise bad(
            f"Compute name `{address.name}` is invalid: 3 to 32 characters, letters, digits and "
            "`-`, starting with a letter and ending with a letter or digit.",
            "InvalidComputeName",
        )
    _refuse_other_type(request, "compute-instance")
    top, properties = arm_body.read_body(request, *_OUTER_READ_ONLY)
    declared = arm_body.section(properties, "properties")
    inner = {key: declared[key] for key in declared if key not in _NO_NODES}
    properties["properties"] = inner
    if properties.get("computeType") in _ATTACHED:
        raise bad(f"The simulated cloud attaches no computes ({properties['computeType']}).")
    arm_body.enum_value(properties.get("computeType"), ("AmlCompute",), "computeType")
    properties["computeType"] = "AmlCompute"
    arm_body.normalize_location(request, top)
    arm_body.normalize_tags(top)
    arm_body.normalize_identity(request, top)
    _normalize(inner, fresh=old is None)
    if old is not None and inner.get(_PORT) == "NotSpecified":
        del inner[_PORT]  # fixed since the creation of the cluster
    arm_body.keep_immutable(request, top, _CREATE_ONLY)
    _fill_in(properties, inner)
    if old is None:
        check_size(request, inner["vmSize"])
    _add_read_only(request, properties, inner)
    properties["computeLocation"] = top["location"]
    out = arm_body.stored_body(request, top)
    if old is not None:
        out["properties"]["modifiedOn"] = clock.iso(request.now)
    return out


def _refuse_other_type(request: PutRequest, other: str) -> None:
    """Refuse a name of the other type: clusters and compute instances share a collection."""
    name = request.address.name
    if request.old is None and request.find(Address(other, name), None) is not None:
        raise conflict(f"The name `{name}` is taken by a compute of another type.", OTHER_TYPE)


def _normalize(inner: dict[str, Data], *, fresh: bool) -> None:
    if "vmSize" in inner:
        inner["vmSize"] = str(inner["vmSize"]).upper()
    for name, words in _WORDS.items():
        if name in inner:
            inner[name] = arm_body.enum_value(inner[name], words, name)
    subnet = arm_body.section(inner, "subnet").get("id")
    if subnet:
        inner["subnet"] = {"id": arm_body.arm_id(str(subnet))}
    else:
        inner.pop("subnet", None)
    scale = inner["scaleSettings"] = arm_body.section(inner, "scaleSettings")
    least = scale["minNodeCount"] = arm_body.whole_number(
        scale.get("minNodeCount", 0), 0, "minNodeCount"
    )
    greatest = scale["maxNodeCount"] = arm_body.whole_number(
        scale.get("maxNodeCount", 4), 0, "maxNodeCount", greatest=_NODES_MOST
    )
    idle = scale.get("nodeIdleTimeBeforeScaleDown", "PT2M")
    scale["nodeIdleTimeBeforeScaleDown"] = arm_body.duration(idle, "nodeIdleTimeBeforeScaleDown")
    if least > greatest:
        raise bad(f"minNodeCount ({least}) must not be larger than maxNodeCount ({greatest}).")
    _hide_secrets(inner, fresh=fresh)


def _hide_secrets(inner: dict[str, Data], *, fresh: bool) -> None:
    """Drop the password of the credentials; a new cluster needs it, or a key, with the name."""
    account = arm_body.section(inner, _ACCOUNT)
    inner.pop(_ACCOUNT, None)
    if not account:
        return
    if not account.get("adminUserName"):
        raise bad("`userAccountCredentials` needs an `adminUserName`.")
    if fresh and not (account.get("adminUserPassword") or account.get("adminUserSshPublicKey")):
        raise bad("`userAccountCredentials` needs `adminUserPassword` or `adminUserSshPublicKey`.")
    visible = ("adminUserName", "adminUserSshPublicKey")
    inner[_ACCOUNT] = {name: account[name] for name in visible if name in account}


def _fill_in(properties: dict[str, Data], inner: dict[str, Data]) -> None:
    """Set defaults; an unspecified port depends on the subnet at creation (REST reference)."""
    properties.setdefault("disableLocalAuth", False)
    inner.setdefault("vmSize", "STANDARD_DS3_V2")
    inner.setdefault("vmPriority", "Dedicated")
    inner.setdefault("osType", "Linux")
    inner.setdefault("enableNodePublicIp", True)
    inner.setdefault("isolatedNetwork", False)
    if inner.get(_PORT, "NotSpecified") == "NotSpecified":
        inner[_PORT] = "Disabled" if "subnet" in inner else "Enabled"


def _add_read_only(
    request: PutRequest, properties: dict[str, Data], inner: dict[str, Data]
) -> None:
    now = clock.iso(request.now)
    nodes = {**_NO_NODES, "allocationStateTransitionTime": now}
    was: Mapping[str, Data] = {"createdOn": now, "modifiedOn": now, "properties": nodes}
    was = request.old.body["properties"] if request.old else was
    nodes = {name: was["properties"][name] for name in _NO_NODES}
    properties["properties"] = dict(sorted({**inner, **nodes}.items()))
    properties |= {"isAttachedCompute": False, "provisioningErrors": None}
    properties |= {"createdOn": was["createdOn"], "modifiedOn": was["modifiedOn"]}


def check_size(request: PutRequest, text: str) -> None:
    retired = catalog.retirement(text)
    if retired and retired.date <= clock.today(request.now):
        raise bad(
            f"VM size {text} is not supported: it was retired on {retired.date.isoformat()}.",
            "VMSizeNotSupported",
        )
    if catalog.size_of(text) is None:
        raise bad(f"The specified VM size {text} is not available in this region.", "InvalidVMSize")


def create_command(
    name: str, body: Mapping[str, Data], price_list: PriceList
) -> Mapping[str, Data]:
    """Return the event engine's command to create or resize a cluster.

    It has the prices of both tiers, as of when it was made.
    """
    inner = body["properties"]["properties"]
    scale, size = inner["scaleSettings"], catalog.size_of(inner["vmSize"])
    price = price_list.price(inner["vmSize"], body["location"])
    spec = {
        "name": name,
        "tier": "low_priority" if is_low_priority(inner["vmPriority"]) else "dedicated",
        "min_instances": scale["minNodeCount"],
        "max_instances": scale["maxNodeCount"],
        "idle_s": parse_iso(scale["nodeIdleTimeBeforeScaleDown"]),
        "cores": size.vcpus if size else 1,
        "price": price.dedicated,
        "low_priority_price": price.spot,
        "region": body["location"],
    }
    return {"is": "AddCluster", "spec": {"is": "ClusterSpec", **spec}}


def note_failure(body: dict[str, Data], error: Mapping[str, Data], time: str) -> None:
    """Note in the body of a cluster why its operation failed."""
    body["properties"]["provisioningErrors"] = [{"error": error}]
    body["properties"]["modifiedOn"] = time


# What an instance is shown with: whoever changes it sends it back.
_SHOWN: Mapping[pointer.Pointer, Data] = {
    ("sshSettings", "sshPublicAccess"): "Disabled",
    ("enableSSO",): True,
    ("releaseQuotaOnStop",): False,
    ("enableOSPatching",): False,
    ("schedules", "computeStartStop"): [],
    ("applicationSharingPolicy",): "Shared",
    ("customServices",): [],
}
INSTANCE_RUNNING, INSTANCE_STOPPED = "Running", "Stopped"


def accept_instance(request: PutRequest) -> dict[str, Data]:
    """Return the body to store for a PUT of a compute instance, on which nothing runs."""
    _refuse_other_type(request, "compute")
    power = pointer.get(request.body, ("properties", "properties", "state"))
    stored, old = by_schema.accept(request), request.old
    properties, now = stored["properties"], clock.iso(request.now)
    arm_body.enum_value(properties.get("computeType"), ("ComputeInstance",), "computeType")
    inner = arm_body.section(properties, "properties")
    for at, value in _SHOWN.items():
        if pointer.get(inner, at) is None:
            pointer.put(inner, at, copy.copy(value))
    inner["vmSize"] = str(inner.get("vmSize", "STANDARD_DS3_V2")).upper()
    inner["state"] = power if power in (INSTANCE_RUNNING, INSTANCE_STOPPED) else INSTANCE_RUNNING
    properties |= {
        "computeType": "ComputeInstance",
        "createdOn": old.body["properties"]["createdOn"] if old else now,
        "modifiedOn": now,
        "computeLocation": stored["location"],
        "properties": inner,
    }
    return stored
