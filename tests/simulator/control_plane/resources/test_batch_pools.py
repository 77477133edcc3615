"""Batch Pools on the local cloud: made, resized, charged to a plan, and held to the limits."""

from __future__ import annotations

from typing import Any

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.catalog.limits import EVERYWHERE
from mlctl.kinds import KINDS
from mlctl.kinds.address import Address
from mlctl.render.cloud import resources
from mlctl.service_errors import Permanent
from mlctl.simulator.control_plane import command_log, replay
from tests.builders.plans import actions, applied, codes, fields, planned
from tests.builders.resources import pool
from tests.builders.workspace import SCOPE, cloud

HERE = Address("batch-pool", "scoring-pool")
URL = "https://host/subscriptions/ws/services/census/swagger.json"


def shown(backend: LocalBackend, name: str = HERE.name) -> dict[str, Any]:
    """What `show` prints of a pool."""
    address = Address("batch-pool", name)
    return resources.resource(backend.read([address])[address], SCOPE)


def put(backend: LocalBackend, name: str = HERE.name, **properties: Any) -> None:
    """A PUT without a plan before it."""
    said = {"vmCount": 2, "swaggerUrl": URL, **properties}
    backend.put(Address("batch-pool", name), {"properties": said}).wait()


def engine_vms(backend: LocalBackend) -> int:
    """The VMs that are billed now."""
    with replay.current(backend.handle.store) as world:
        return len(world.pools[command_log.engine_name(1, HERE.name)].vms)


def limited(pools: int | None = None, vms: int | None = None) -> LocalBackend:
    backend = cloud()
    backend.set_pool_limits(pools=pools, vms=vms)
    return backend


def test_an_applied_pool_has_its_vms_its_id_and_a_plan_that_pays() -> None:
    backend = cloud()
    applied(backend, pool(description="nightly"))
    made = shown(backend)
    assert (made["vm_count"], made["provisioned_vms"], made["description"]) == (2, 2, "nightly")
    assert len(made["pool_id"]) == 32
    assert "/Microsoft.MachineLearning/commitmentPlans/" in made["billing_plan"]


def test_a_pool_that_is_applied_again_needs_nothing() -> None:
    backend = cloud()
    applied(backend, pool())
    assert planned(backend, pool()).plan.empty


def test_a_resize_is_in_place_and_leaves_the_id() -> None:
    backend = cloud()
    applied(backend, pool())
    before = shown(backend)
    assert fields(planned(backend, pool(vms=0)).plan) == {str(HERE): ["vm_count"]}
    applied(backend, pool(vms=0))
    assert shown(backend) == {**before, "vm_count": 0, "provisioned_vms": 0}


def test_vms_are_there_when_the_operation_has_ended_and_not_before() -> None:
    backend = cloud()
    running = backend.put(HERE, {"properties": {"vmCount": 3, "swaggerUrl": URL}})
    assert shown(backend)["provisioned_vms"] == 0
    running.wait()
    assert shown(backend)["provisioned_vms"] == 3
    backend.put(HERE, {"properties": {"vmCount": 5, "swaggerUrl": URL}})
    assert shown(backend)["provisioned_vms"] == 3


def test_vms_go_when_a_shrink_begins_and_come_when_a_growth_has_ended() -> None:
    backend = cloud()
    put(backend, vmCount=4)
    counts = []
    for vms in (1, 3):
        running = backend.put(HERE, {"properties": {"vmCount": vms, "swaggerUrl": URL}})
        counts.append(engine_vms(backend))
        running.wait()
        counts.append(engine_vms(backend))
    assert counts == [1, 1, 1, 3]


def test_the_service_holds_a_pool_to_its_web_service() -> None:
    backend = cloud()
    put(backend)
    with pytest.raises(Permanent, match=r"swaggerUrl.* cannot be changed"):
        put(backend, swaggerUrl=URL.replace("census", "other"))


def test_another_web_service_is_another_pool() -> None:
    backend = cloud()
    applied(backend, pool())
    moved = planned(backend, pool(swagger_url=URL)).plan
    assert actions(moved) == {str(HERE): "replace"}


def test_one_web_service_is_one_billing_plan() -> None:
    backend = cloud()
    applied(backend, pool("one", swagger_url=URL), pool("two", swagger_url=URL), pool("three"))
    plans = [shown(backend, name)["billing_plan"] for name in ("one", "two", "three")]
    assert plans[0] == plans[1] != plans[2]


def test_a_pool_that_was_made_anew_has_a_new_id() -> None:
    backend = cloud()
    put(backend)
    first = shown(backend)["pool_id"]
    backend.delete(HERE).wait()
    put(backend)
    assert shown(backend)["pool_id"] != first


def test_what_show_prints_of_a_pool_can_be_applied_again() -> None:
    backend = cloud()
    applied(backend, pool(tags={"team": "ds"}))
    assert planned(backend, pool(**shown(backend))).plan.empty


def test_a_pool_too_many_is_refused_in_the_plan_and_by_the_service() -> None:
    backend = limited(pools=1)
    applied(backend, pool("one"))
    assert codes(planned(backend, pool("two")).plan) == ["MLC409"]
    with pytest.raises(Permanent, match=r"PoolQuotaExceeded.*\(1\)"):
        put(backend, "two")


def test_pools_of_one_plan_count_together() -> None:
    assert codes(planned(limited(pools=1), pool("one")).plan) == []
    (finding,) = planned(limited(pools=1), pool("one"), pool("two")).plan.rejections
    assert (finding.rule.code, len(finding.related)) == ("MLC409", 1)


def test_a_deleted_pool_no_longer_counts() -> None:
    backend = limited(pools=1)
    put(backend, "one")
    backend.delete(Address("batch-pool", "one")).wait()
    assert codes(planned(backend, pool("two")).plan) == []


def test_a_pool_too_large_is_refused_in_the_plan_and_by_the_service() -> None:
    backend = limited(vms=3)
    assert codes(planned(backend, pool(vms=3)).plan) == []
    assert codes(planned(backend, pool(vms=4)).plan) == ["MLC409"]
    with pytest.raises(Permanent, match=r"PoolVmQuotaExceeded.* 4 VMs.* 3 in a pool"):
        put(backend, vmCount=4)
    put(backend, vmCount=3)


def test_a_pool_over_a_lowered_limit_may_shrink_and_not_grow() -> None:
    backend = limited(vms=9)
    applied(backend, pool(vms=8))
    backend.set_pool_limits(vms=3)
    assert codes(planned(backend, pool(vms=7)).plan) == []
    assert codes(planned(backend, pool(vms=9)).plan) == ["MLC409"]
    put(backend, vmCount=7, swaggerUrl=pool().values["swagger_url",])
    with pytest.raises(Permanent, match="PoolVmQuotaExceeded"):
        put(backend, vmCount=8, swaggerUrl=pool().values["swagger_url",])


def test_a_pool_that_is_made_anew_is_held_to_the_limit() -> None:
    backend = limited(vms=9)
    applied(backend, pool(vms=8))
    backend.set_pool_limits(vms=3)
    assert codes(planned(backend, pool(vms=8, swagger_url=URL)).plan) == ["MLC409"]


def test_the_limits_of_the_account_hold_in_every_region() -> None:
    backend = limited(pools=4, vms=5)
    put(backend)
    known = {one.family: (one.used, one.limit) for one in backend.usage(EVERYWHERE)}
    assert known == {"batch_pools": (1, 4), "vms_per_pool": (0, 5)}
    assert "batch_pools" not in {one.family for one in backend.usage("eastus")}


@pytest.mark.parametrize(
    ("properties", "code"),
    [
        ({"vmCount": -1}, "BadArgument"),
        ({"vmCount": 1.5}, "BadArgument"),
        ({"vmCount": None}, "BadArgument"),
        ({"swaggerUrl": None}, "BillingPlanNotFound"),
        ({"swaggerUrl": "http://host/swagger.json"}, "BillingPlanNotFound"),
        ({"swaggerUrl": "https://host/services/census"}, "BillingPlanNotFound"),
    ],
)
def test_a_body_that_is_no_pool_is_refused(properties: dict[str, Any], code: str) -> None:
    with pytest.raises(Permanent) as refused:
        put(cloud(), **properties)
    assert refused.value.code == code


def test_a_bad_name_is_refused() -> None:
    with pytest.raises(Permanent, match="InvalidPoolName"):
        put(cloud(), "a--b")


def test_pools_are_of_a_service_that_has_been_retired_and_nothing_else_is() -> None:
    retired = [kind.name for kind in KINDS.values() if kind.retired_service]
    assert retired == ["batch-pool"]
