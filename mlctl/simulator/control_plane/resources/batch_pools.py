"""Rules for Batch Pools of the classic service, and the limits of their account.

The service could create, resize and delete a pool ("Azure Batch service for Machine Learning
jobs"), but had no ARM resource for it: body, collection and error codes are this project's own, in
the style of ARM.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from sqlite3 import Connection
from urllib.parse import urlsplit

from mlctl.catalog.prices import PriceList
from mlctl.kinds.address import Address, kind_of
from mlctl.pointer import Data
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane.resources import arm_body, quota
from mlctl.simulator.control_plane.state import clock, rows
from mlctl.simulator.control_plane.state.context import PutRequest, StoredResource
from mlctl.simulator.control_plane.state.errors import bad
from mlctl.simulator.control_plane.state.rows import WorkspaceState

_READ_ONLY = ("provisioningState", "poolId", "billingPlanId", "provisionedVmCount", "createdOn")
_CREATE_ONLY = [("properties", "swaggerUrl")]
_MOST = 2**31 - 1


def accept(request: PutRequest) -> dict[str, Data]:
    """Return the body to store for a PUT of a pool: Create Pool, or Resize Pool.

    Raises:
        ServiceError: the request is not valid.
    """
    address, old = request.address, request.old
    if old is None and not re.fullmatch(arm_body.NAME, address.name):
        text = "3 to 32 letters, digits and single dashes, starting with a letter"
        raise bad(f"The pool name `{address.name}` is invalid: {text}.", "InvalidPoolName")
    top, properties = arm_body.read_body(request, *_READ_ONLY)
    arm_body.normalize_tags(top)
    arm_body.keep_immutable(request, top, _CREATE_ONLY)
    properties["vmCount"] = arm_body.whole_number(
        properties.get("vmCount"), 0, "vmCount", greatest=_MOST
    )
    properties["swaggerUrl"] = url = properties.get("swaggerUrl")
    properties["billingPlanId"] = _billing_plan(request, url)
    if old is None:
        own_id = request.guid(f"pool/{request.scope}/{address.name}/{request.now}".casefold())
        properties["poolId"] = own_id.replace("-", "")
        properties |= {"provisionedVmCount": 0, "createdOn": clock.iso(request.now)}
    else:
        unchanged = ("poolId", "provisionedVmCount", "createdOn")
        properties |= {name: old.body["properties"][name] for name in unchanged}
    top["properties"] = dict(sorted(properties.items()))
    return arm_body.stored_body(request, top)


def refuse_too_many_vms(
    db: Connection,
    state: WorkspaceState,
    address: Address,
    new: Mapping[str, Data],
    old: StoredResource | None,
) -> None:
    """Check the account's limit of VMs per pool, unless the pool does not grow.

    Raises:
        ServiceError: the pool asks for more.
    """
    if quota.VMS_PER_POOL not in kind_of(address).quota.capped:
        return
    vms = new["properties"]["vmCount"]
    has = old.body["properties"]["vmCount"] if old else 0
    subscription = state.scope.subscription
    cap = rows.quota_limits(db, subscription, quota.EVERYWHERE).get(quota.VMS_PER_POOL)
    limit = quota.DEFAULTS[quota.VMS_PER_POOL] if cap is None else cap
    if vms > limit and vms > has:
        text = f"`{address}` asks for {vms} VMs; the Batch Pool account allows {limit} in a pool."
        raise Permanent("PoolVmQuotaExceeded", text)


def create_command(name: str, body: Mapping[str, Data], _: PriceList) -> Mapping[str, Data]:
    """Return the event engine's command that creates or resizes a pool."""
    spec = {"is": "PoolSpec", "name": name, "vms": body["properties"]["vmCount"]}
    return {"is": "AddPool", "spec": spec}


def provision(db: Connection, operation: int) -> None:
    """Set the provisioned VMs of a pool when its operation has ended."""
    db.execute(
        "UPDATE resources SET body = json_set(body, '$.properties.provisionedVmCount',"
        " json_extract(body, '$.properties.vmCount')) WHERE operation = ?",
        (operation,),
    )


def _billing_plan(request: PutRequest, url: Data) -> str:
    """Return the billing plan of the web service at `url`.

    "The Batch Pool service uses the swagger.json to associate the pool with a billing plan." The
    name of the plan is made up, one per web service, as the real one cannot be known here.
    """
    parts = urlsplit(url) if isinstance(url, str) else None
    if parts is None or parts.scheme != "https" or not parts.path.lower().endswith("/swagger.json"):
        text = f"`swaggerUrl` must be the https address of a swagger.json, not `{url}`."
        raise bad(text, "BillingPlanNotFound")
    service = f"{parts.netloc}{parts.path}".casefold()
    plans = f"{request.scope.group}/providers/Microsoft.MachineLearning/commitmentPlans"
    return f"{plans}/plan-{request.guid(service)[:8]}"
