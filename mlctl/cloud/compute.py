"""What the service makes of an AmlCompute cluster."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from mlctl import pointer
from mlctl.cloud import body as part
from mlctl.cloud import clock
from mlctl.cloud.ask import Ask, Catalog, Found
from mlctl.cloud.refusal import bad
from mlctl.kinds.address import Address
from mlctl.pointer import Data

# REST: 3 to 32 characters (the documentation says 24, which `validate` holds people to).
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9-]{1,30}[a-zA-Z0-9]")
_OUTER_OWN = ("provisioningState", "provisioningErrors", "createdOn", "modifiedOn", "computeLocation",
              "isAttachedCompute", "resourceId")
_INNER_OWN = ("allocationState", "allocationStateTransitionTime", "currentNodeCount", "targetNodeCount",
              "nodeStateCounts", "errors")
# az ml compute update: "The 'tags', 'max_instances', 'min_instances', 'idle_time_before_scale_down',
# 'identity_type', and 'user_assigned_identities' properties can be updated."
_PINNED = [
    ("location",),
    ("properties", "computeType"),
    ("properties", "description"),
    ("properties", "disableLocalAuth"),
    *(("properties", "properties", name) for name in (
        "vmSize", "vmPriority", "osType", "subnet", "userAccountCredentials", "enableNodePublicIp",
        "isolatedNetwork", "virtualMachineImage")),
]
_PORT = ("properties", "properties", "remoteLoginPortPublicAccess")
_NODES = ("preparing", "running", "idle", "unusable", "leaving", "preempted")


def accept(ask: Ask, address: Address, body: Mapping[str, Data], old: Found | None) -> dict[str, Data]:
    """The body to store for a PUT of `body` over `old`.

    Raises:
        Refusal: the service would not take it.
    """
    if old is None and not _NAME.fullmatch(address.name):
        raise bad(f"Compute name `{address.name}` is invalid: 3 to 32 characters, letters, digits and "
                  "`-`, starting with a letter and ending with a letter or digit.", "InvalidComputeName")
    top, properties = part.opened(body)
    for own in _OUTER_OWN:
        properties.pop(own, None)
    given = properties.get("properties") or {}
    inner = part.without_nulls({key: given[key] for key in given if key not in _INNER_OWN})
    properties["properties"] = inner
    part.word(properties.get("computeType"), ("AmlCompute",), "computeType")
    properties["computeType"] = "AmlCompute"
    part.place(ask, top, old.body["location"] if old else ask.location)
    part.tags(top)
    part.identity(ask, address, top)
    _respell(inner, fresh=old is None)
    part.pinned(ask, address, old, top, _PINNED)
    part.pinned(ask, address, old, top, [_PORT], lambda now: now == "NotSpecified")
    _fill_in(properties, inner)
    if old is None:
        _check_size(ask, inner["vmSize"])
    _add_own(ask, top, properties, inner, old)
    out = part.closed(ask, address, old, top)
    if old and out != old.body:
        out["properties"]["modifiedOn"] = clock.iso(ask.now)
    return out


def _respell(inner: dict[str, Data], *, fresh: bool) -> None:
    if "vmSize" in inner:
        inner["vmSize"] = str(inner["vmSize"]).upper()
    if "vmPriority" in inner:
        inner["vmPriority"] = part.word(inner["vmPriority"], ("Dedicated", "LowPriority"), "vmPriority")
    if "osType" in inner:
        inner["osType"] = part.word(inner["osType"], ("Linux", "Windows"), "osType")
    if "remoteLoginPortPublicAccess" in inner:
        words = ("Enabled", "Disabled", "NotSpecified")
        inner["remoteLoginPortPublicAccess"] = part.word(
            inner["remoteLoginPortPublicAccess"], words, "remoteLoginPortPublicAccess")
    subnet = pointer.get(inner, ("subnet", "id"))
    if subnet:
        inner["subnet"] = {"id": part.arm_id(str(subnet))}
    else:
        inner.pop("subnet", None)
    scale = inner["scaleSettings"] = part.without_nulls(inner.get("scaleSettings") or {})
    least = scale["minNodeCount"] = part.whole(scale.get("minNodeCount", 0), 0, "minNodeCount")
    most = scale["maxNodeCount"] = part.whole(scale.get("maxNodeCount", 4), 0, "maxNodeCount")
    idle = scale.get("nodeIdleTimeBeforeScaleDown", "PT120S")
    scale["nodeIdleTimeBeforeScaleDown"] = part.duration(idle, "nodeIdleTimeBeforeScaleDown")
    if least > most:
        raise bad(f"minNodeCount ({least}) must not be larger than maxNodeCount ({most}).")
    _hide_secrets(inner, fresh=fresh)


def _hide_secrets(inner: dict[str, Data], *, fresh: bool) -> None:
    """Keep the user's name only; a new cluster needs a password or a key with it."""
    account = inner.pop("userAccountCredentials", None)
    if not account:
        return
    if not account.get("adminUserName"):
        raise bad("`userAccountCredentials` needs an `adminUserName`.")
    if fresh and not (account.get("adminUserPassword") or account.get("adminUserSshPublicKey")):
        raise bad("`userAccountCredentials` needs `adminUserPassword` or `adminUserSshPublicKey`.")
    inner["userAccountCredentials"] = {"adminUserName": account["adminUserName"]}


def _fill_in(properties: dict[str, Data], inner: dict[str, Data]) -> None:
    """The service's defaults; an unspecified port is settled at creation by the subnet (REST reference)."""
    properties.setdefault("disableLocalAuth", "userAccountCredentials" not in inner)
    inner.setdefault("vmSize", "STANDARD_DS3_V2")
    inner.setdefault("vmPriority", "Dedicated")
    inner.setdefault("osType", "Linux")
    inner.setdefault("enableNodePublicIp", True)
    if inner.get("remoteLoginPortPublicAccess", "NotSpecified") == "NotSpecified":
        inner["remoteLoginPortPublicAccess"] = "Disabled" if "subnet" in inner else "Enabled"


def _add_own(ask: Ask, top: dict[str, Data], properties: dict[str, Data], inner: dict[str, Data],
             old: Found | None) -> None:
    now = clock.iso(ask.now)
    if old is None:
        own = {"allocationState": "Steady", "allocationStateTransitionTime": now, "currentNodeCount": 0,
               "targetNodeCount": 0, "nodeStateCounts": {f"{state}NodeCount": 0 for state in _NODES},
               "errors": []}
        times = {"createdOn": now, "modifiedOn": now}
    else:
        was = old.body["properties"]
        own = {name: was["properties"][name] for name in _INNER_OWN}
        times = {"createdOn": was["createdOn"], "modifiedOn": was["modifiedOn"]}
    properties["properties"] = dict(sorted((inner | own).items()))
    properties |= {"computeLocation": top["location"], "isAttachedCompute": False,
                   "provisioningErrors": [], **times}
    top["properties"] = properties


@dataclass(frozen=True, slots=True)
class VmSize:
    """What quotas need to know of a size."""

    family: str
    vcpus: int
    gpus: int = 0


_CONVENTION = re.compile(
    r"standard_(?P<series>[abdefghlmn][a-z]{0,2}?)(?P<vcpus>\d{1,3})(?:-\d+)?(?P<features>[a-z]*)"
    r"(?:_(?:a100|h100|t4|mi300x|a10|v620))?_v(?P<version>[2-7])"
)


def size_of(catalog: Catalog, text: str) -> VmSize | None:
    """The size called `text`: of the catalog or, as catalogs age, by Azure's naming convention.

    The convention puts the vCPUs first in the name, e.g. `Standard_D8s_v5`
    (learn.microsoft.com/azure/virtual-machines/vm-naming-conventions).
    """
    known = catalog.find_size(text)
    if known:
        return VmSize(known.family, known.vcpus, known.gpus)
    match = _CONVENTION.fullmatch(text.casefold())
    if not match:
        return None
    series = (match["series"] + match["features"]).upper()
    return VmSize(f"standard{series}v{match['version']}Family", int(match["vcpus"]),
                  1 if match["series"].startswith("n") else 0)


def _check_size(ask: Ask, text: str) -> None:
    retired = ask.catalog.retirement(text)
    if retired and retired.date <= clock.today(ask.now):
        raise bad(f"VM size {text} is not supported: it was retired on {retired.date.isoformat()}.",
                  "VMSizeNotSupported")
    if size_of(ask.catalog, text) is None:
        raise bad(f"The specified VM size {text} is not available in this region.", "InvalidVMSize")
