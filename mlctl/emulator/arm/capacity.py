"""Quotas and VM sizes of a region."""

from __future__ import annotations

import re

from mlctl import catalog
from mlctl.catalog import Size
from mlctl.emulator.http.messages import Response, json_response
from mlctl.emulator.requests.call import Call
from mlctl.kinds.address import PROVIDER, Scope
from mlctl.pointer import Data
from mlctl.simulator.control_plane import control
from mlctl.simulator.control_plane.control import QuotaStatus
from mlctl.simulator.control_plane.resources import body as part
from mlctl.simulator.control_plane.resources import quota
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle

# Types and names of the swagger's example (2024-04-01, Usage/list.json).
_GENERAL = {
    quota.COMPUTES: ("totalCores", "Clusters"),
    quota.TOTAL: ("dedicatedCores", "Total Cluster Dedicated Regional vCPUs"),
    quota.LOW_PRIORITY: ("lowPriorityCores", "Total Cluster LowPriority Regional vCPUs"),
}


def usages(call: Call) -> Response:
    """GET of the quotas of a region: clusters, cores, and cores by family."""
    home = call.settings.home
    scope = Scope(call.names["subscription"], home.resource_group, home.workspace)
    location = part.region_name(call.names["location"])
    pools = control.quotas(WorkspaceHandle(call.store, scope, location), location)
    return json_response(
        {"value": [_usage(call, each) for each in pools if each.name != quota.ENDPOINTS]}
    )


def sizes(_: Call) -> Response:
    """GET of the VM sizes that clusters can have."""
    return json_response({"value": [_size(each) for each in catalog.sizes().values()]})


def family(name: str) -> str:
    """The service's words for a quota: `standardDSv2Family` is `Standard DSv2 Family ...`."""
    bare = re.sub(r"^standard(.*?)(Family)?$", r"Standard \1 Family", name)
    return f"{bare} Cluster Dedicated vCPUs"


def _usage(call: Call, pool: QuotaStatus) -> Data:
    kind, name = _GENERAL.get(pool.name, ("vmFamily", family(pool.name)))
    own = "" if pool.name in _GENERAL else "/" + name.replace(" ", "_")
    return {
        "id": f"/subscriptions/{call.names['subscription']}/usages{own}",
        "type": f"{PROVIDER}/{kind}/usages",
        "currentValue": pool.used,
        "limit": pool.limit,
        "unit": "Count",
        "name": {"value": name, "localizedValue": name},
    }


def _size(size: Size) -> Data:
    prices = []
    if size.usd_per_hour is not None:
        price = {"retailPrice": size.usd_per_hour, "osType": "Linux", "vmTier": "Standard"}
        prices.append(price)
    return {
        "name": size.name,
        "family": size.family,
        "vCPUs": size.vcpus,
        "gpus": size.gpus,
        "osVhdSizeMB": None,
        "maxResourceVolumeMB": None,
        "memoryGB": size.memory_gib,
        "lowPriorityCapable": size.low_priority_capable is not False,
        "premiumIO": None,
        "supportedComputeTypes": ["AmlCompute"],
        "estimatedVMPrices": {
            "billingCurrency": "USD",
            "unitOfMeasure": "OneHour",
            "values": prices,
        },
    }
