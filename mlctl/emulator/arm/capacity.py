"""Quotas and VM sizes of a region, as they were recorded (api-version 2024-04-01)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mlctl import catalog
from mlctl.catalog import Size, prices
from mlctl.catalog.limits import low_priority_of
from mlctl.emulator.http.messages import Response, json_response
from mlctl.emulator.requests.call import Call
from mlctl.kinds.address import PROVIDER, Scope
from mlctl.pointer import Data
from mlctl.simulator.control_plane import control
from mlctl.simulator.control_plane.control import QuotaStatus
from mlctl.simulator.control_plane.resources import body as part
from mlctl.simulator.control_plane.resources import quota
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle

_UNLIMITED = -1
_DEDICATED = "Dedicated"
_LOW_PRIORITY = "LowPriority"


def usages(call: Call) -> Response:
    """GET of what is used of each quota of a region: totals, and cores by VM family and tier."""
    known = {one.name: one for one in _quotas(call)}
    families = [name for name in known if quota.is_family(name)]
    rows = [
        _total(call, known[quota.COMPUTES], "Clusters", "Clusters"),
        _total(call, known[quota.TOTAL], "DedicatedCores", "Cluster Dedicated Regional vCPUs"),
    ]
    rows += [_of_family(call, known[name], name, _DEDICATED) for name in families]
    low = known[quota.LOW_PRIORITY]
    rows.append(_total(call, low, "LowPriorityCores", "Cluster Low Priority Regional vCPUs"))
    rows += [
        _of_family(call, known[low_priority_of(name)], name, _LOW_PRIORITY) for name in families
    ]
    return json_response({"value": rows})


def quotas(call: Call) -> Response:
    """GET of the limits of a region: of each VM family, and of each workspace in it."""
    location = part.region_name(call.names["location"])
    subscription = call.names["subscription"]
    there = [
        one.scope
        for one in control.status(_region(call)).workspaces
        if part.region_name(one.location) == location
        and one.scope.subscription.casefold() == subscription.casefold()
    ]
    rows: list[Data] = []
    for one in _quotas(call):
        if quota.is_family(one.name):
            rows.append(_limit(one, f"/subscriptions/{subscription}", "vmFamily", None))
            rows += [_limit(one, scope.id, "workspaces", location) for scope in there]
    return json_response({"value": rows})


def update_quotas(call: Call) -> Response:
    """POST of limits for single workspaces, which the simulated cloud does not have."""
    asked = call.data.get("value") or []
    return json_response({"value": [_not_updated(one) for one in asked]})


def sizes(_: Call) -> Response:
    """GET of the VM sizes that clusters can have."""
    return json_response({"value": [_size(each) for each in catalog.sizes().values()]})


def _quotas(call: Call) -> tuple[QuotaStatus, ...]:
    return control.quotas(_region(call), part.region_name(call.names["location"]))


def _region(call: Call) -> WorkspaceHandle:
    home = call.settings.home
    scope = Scope(call.names["subscription"], home.resource_group, home.workspace)
    return WorkspaceHandle(call.store, scope, part.region_name(call.names["location"]))


def _total(call: Call, one: QuotaStatus, what: str, words: str) -> Data:
    return _usage(
        one,
        {"value": f"Total{what}", "localizedValue": f"Total {words}"},
        f"total{what}",
        f"/subscriptions/{call.names['subscription']}",
    )


def _of_family(call: Call, one: QuotaStatus, family: str, tier: str) -> Data:
    return _usage(
        one,
        {"value": family, "localizedValue": localized(family, tier)},
        f"vmFamily/{tier[0].lower()}{tier[1:]}Cores",
        f"/subscriptions/{call.names['subscription']}/usages/{_in_id(family)}",
    )


def _usage(one: QuotaStatus, name: Data, sort: str, id_: str) -> Data:
    return {
        "unit": "Count",
        "currentValue": one.used,
        "limit": _UNLIMITED if one.limit is None else one.limit,
        "name": name,
        "type": f"{PROVIDER}/{sort}/usages",
        "id": id_,
    }


def _limit(one: QuotaStatus, scope: str, of: str, location: str | None) -> Data:
    return {
        "unit": "Count",
        "limit": _UNLIMITED if one.limit is None else one.limit,
        "name": {"value": one.name, "localizedValue": localized(one.name, _DEDICATED)},
        "type": f"{PROVIDER}/{of}/dedicatedCores/quotas",
        "id": f"{scope}/quotas/{_in_id(one.name)}",
        "location": location,
    }


def localized(family: str, tier: str) -> str:
    """The service's words for a VM family: `standardDFamily` is `Standard D Family ...`.

    A family that is spelt with blanks gets more of them, as in the recording.
    """
    apart = re.sub("^standard", "Standard ", family, flags=re.IGNORECASE)
    return f"{re.sub('Family$', ' Family', apart)} Cluster {tier} vCPUs"


def _in_id(family: str) -> str:
    return family.replace(" ", "_")


def _not_updated(asked: Mapping[str, Data]) -> Data:
    """The specification's answer for one limit, with the reason why it is as it was."""
    family = str(asked.get("id")).rpartition("/")[2].replace("_", " ")
    known = catalog.family(family) in quota.families()
    return {
        "id": asked.get("id"),
        "type": asked.get("type"),
        "limit": asked.get("limit"),
        "unit": asked.get("unit"),
        "status": "OperationNotEnabledForRegion" if known else "InvalidVMFamilyName",
    }


def _size(size: Size) -> Data:
    """A size; what no catalogue tells is as in most recorded rows, or read off the name."""
    name = re.fullmatch(
        r"[a-z]+_[a-z]+[\d-]+(?P<features>[a-z]*)(?:_.*)?", size.name, re.IGNORECASE
    )
    features = name["features"].casefold() if name else ""
    premium = "s" in features or size.name.casefold().startswith("standard_ds")
    capable = size.low_priority_capable is not False
    prices = list(_prices(size, low_priority=capable))
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
                    "values": prices,
                }
            }
            if prices
            else {}
        ),
        "supportedComputeTypes": ["AmlCompute", "ComputeInstance"],
        "generation": "gen1",
        "supportsIB": "r" in features,
    }


def _prices(size: Size, *, low_priority: bool) -> Iterator[Data]:
    """Prices per hour; the one of low priority is that by which the simulated cloud bills."""
    if size.usd_per_hour is None:
        return
    yield {"retailPrice": size.usd_per_hour, "osType": "Linux", "vmTier": "Standard"}
    if low_priority:
        price = round(size.usd_per_hour * prices.LOW_PRIORITY_RATIO, 4)
        yield {"retailPrice": price, "osType": "Linux", "vmTier": "LowPriority"}
