"""Quotas and VM sizes of a region, as they were recorded (api-version 2024-04-01)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mlctl import catalog
from mlctl.catalog import Size
from mlctl.catalog.limits import low_priority_of
from mlctl.catalog.prices import Price
from mlctl.emulator.http.messages import Response, json_response
from mlctl.emulator.requests.call import Call
from mlctl.kinds.address import PROVIDER, Scope
from mlctl.pointer import Data
from mlctl.simulator.control_plane import control
from mlctl.simulator.control_plane.control import QuotaStatus
from mlctl.simulator.control_plane.resources import arm_body, quota
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle

_UNLIMITED = -1
_DEDICATED = "Dedicated"
_LOW_PRIORITY = "LowPriority"


def usages(call: Call) -> Response:
    """GET of what is used of each quota of a region: totals, and cores by VM family and tier."""
    quotas_by_name = {status.name: status for status in _quotas(call)}
    families = [name for name in quotas_by_name if quota.is_family(name)]
    rows = [
        _total(call, quotas_by_name[quota.COMPUTES], "Clusters", "Clusters"),
        _total(
            call, quotas_by_name[quota.TOTAL], "DedicatedCores", "Cluster Dedicated Regional vCPUs"
        ),
    ]
    rows += [_of_family(call, quotas_by_name[name], name, _DEDICATED) for name in families]
    low = quotas_by_name[quota.LOW_PRIORITY]
    rows.append(_total(call, low, "LowPriorityCores", "Cluster Low Priority Regional vCPUs"))
    rows += [
        _of_family(call, quotas_by_name[low_priority_of(name)], name, _LOW_PRIORITY)
        for name in families
    ]
    return json_response({"value": rows})


def quotas(call: Call) -> Response:
    """GET of the limits of a region: of each VM family, and of each workspace in it."""
    location = arm_body.region_name(call.names["location"])
    subscription = call.names["subscription"]
    scopes = [
        workspace.scope
        for workspace in control.status(_region(call)).workspaces
        if arm_body.region_name(workspace.location) == location
        and workspace.scope.subscription.casefold() == subscription.casefold()
    ]
    rows: list[Data] = []
    for status in _quotas(call):
        if quota.is_family(status.name):
            rows.append(_limit(status, f"/subscriptions/{subscription}", "vmFamily", None))
            rows += [_limit(status, scope.id, "workspaces", location) for scope in scopes]
    return json_response({"value": rows})


def update_quotas(call: Call) -> Response:
    """POST of limits for single workspaces, which the simulated cloud does not have."""
    requested = call.data.get("value") or []
    return json_response({"value": [_not_updated(limit) for limit in requested]})


def sizes(call: Call) -> Response:
    """GET of the VM sizes that clusters can have."""
    location = arm_body.region_name(call.names["location"])
    price_list = call.store.price_list()
    listed = [
        _size(vm_size, price_list.price(vm_size.name, location))
        for vm_size in catalog.sizes().values()
    ]
    return json_response({"value": listed})


def _quotas(call: Call) -> tuple[QuotaStatus, ...]:
    return control.quotas(_region(call), arm_body.region_name(call.names["location"]))


def _region(call: Call) -> WorkspaceHandle:
    home = call.settings.home
    scope = Scope(call.names["subscription"], home.resource_group, home.workspace)
    return WorkspaceHandle(call.store, scope, arm_body.region_name(call.names["location"]))


def _total(call: Call, status: QuotaStatus, unit: str, words: str) -> Data:
    return _usage(
        status,
        {"value": f"Total{unit}", "localizedValue": f"Total {words}"},
        f"total{unit}",
        f"/subscriptions/{call.names['subscription']}",
    )


def _of_family(call: Call, status: QuotaStatus, family: str, tier: str) -> Data:
    return _usage(
        status,
        {"value": family, "localizedValue": localized(family, tier)},
        f"vmFamily/{tier[0].lower()}{tier[1:]}Cores",
        f"/subscriptions/{call.names['subscription']}/usages/{_in_id(family)}",
    )


def _usage(status: QuotaStatus, name: Data, sort: str, id_: str) -> Data:
    return {
        "unit": "Count",
        "currentValue": status.used,
        "limit": _UNLIMITED if status.limit is None else status.limit,
        "name": name,
        "type": f"{PROVIDER}/{sort}/usages",
        "id": id_,
    }


def _limit(status: QuotaStatus, scope: str, of: str, location: str | None) -> Data:
    return {
        "unit": "Count",
        "limit": _UNLIMITED if status.limit is None else status.limit,
        "name": {"value": status.name, "localizedValue": localized(status.name, _DEDICATED)},
        "type": f"{PROVIDER}/{of}/dedicatedCores/quotas",
        "id": f"{scope}/quotas/{_in_id(status.name)}",
        "location": location,
    }


def localized(family: str, tier: str) -> str:
    """Return the service's name of a VM family: `standardDFamily` is `Standard D Family ...`.

    A family that is spelt with blanks gets more of them, as in the recording.
    """
    apart = re.sub("^standard", "Standard ", family, flags=re.IGNORECASE)
    return f"{re.sub('Family$', ' Family', apart)} Cluster {tier} vCPUs"


def _in_id(family: str) -> str:
    return family.replace(" ", "_")


def _not_updated(requested: Mapping[str, Data]) -> Data:
    """The specification's answer for one limit, with the reason why it is as it was."""
    family = str(requested.get("id")).rpartition("/")[2].replace("_", " ")
    is_family = catalog.family(family) in quota.families()
    return {
        "id": requested.get("id"),
        "type": requested.get("type"),
        "limit": requested.get("limit"),
        "unit": requested.get("unit"),
        "status": "OperationNotEnabledForRegion" if is_family else "InvalidVMFamilyName",
    }


def _size(size: Size, price: Price) -> Data:
    """Describe a size; what no catalogue has is as in most recorded rows, or read from the name."""
    name = re.fullmatch(
        r"[a-z]+_[a-z]+[\d-]+(?P<features>[a-z]*)(?:_.*)?", size.name, re.IGNORECASE
    )
    features = name["features"].casefold() if name else ""
    premium = "s" in features or size.name.casefold().startswith("standard_ds")
    capable = size.low_priority_capable is not False
    values = list(_prices(price, low_priority=capable))
    return {
        "name": size.name,
        "family": size.family,
        "vCPUs": size.vcpus,
        "gpus": size.gpus,
        "osVhdSizeMB": 1047552,
        "maxResourceVolumeMB": 0,
        "memoryGB": size.memory_gib,
        "lowPriorityCapable": capable,
        "premiumIO": premium,
        **(
            {
                "estimatedVMPrices": {
                    "billingCurrency": "USD",
                    "unitOfMeasure": "OneHour",
                    "values": values,
                }
            }
            if values
            else {}
        ),
        "supportedComputeTypes": ["AmlCompute", "ComputeInstance"],
        "generation": "gen1",
        "supportsIB": "r" in features,
    }


def _prices(price: Price, *, low_priority: bool) -> Iterator[Data]:
    """Return the hourly prices in a region, by which the simulated cloud bills."""
    if price.dedicated is not None:
        yield {"retailPrice": price.dedicated, "osType": "Linux", "vmTier": "Standard"}
    if low_priority and price.spot is not None:
        yield {"retailPrice": price.spot, "osType": "Linux", "vmTier": "LowPriority"}
