"""Recorded bodies of resources in motion: they show nulls, and nothing is compared with them."""

from __future__ import annotations

import json

import pytest

from mlctl.kinds.address import Address
from mlctl.render.plan import blocks as render
from mlctl.render.plan import markdown, plan_json
from tests.builders.azure import azure
from tests.builders.plans import Planned, plan
from tests.builders.replayed import CARDS, Replayed

CLUSTER = """\
$schema: https://azuremlschemas.azureedge.net/latest/amlCompute.schema.json
name: aml03
type: amlcompute
size: Standard_DS3_v2
max_instances: 4
idle_time_before_scale_down: 300
ssh_public_access_enabled: true
"""
NOT_COMPARED = """\
No changes to what could be compared.

compute/aml03 was not compared: it is updating, so its final state is not known yet. Wait for it,
and plan again: mlctl compute wait -n aml03 --updated
"""


def of(card: str) -> Planned:
    """The plan of `CLUSTER` where the service shows the body of a card."""
    return plan(CLUSTER, backend=azure(Replayed.of(card)).backend)


def test_a_plan_says_what_is_in_motion_and_invents_no_change() -> None:
    made = of("compute-patch-scale").plan
    assert render.human(made) == NOT_COMPARED
    assert (made.empty, made.rejections) == (True, ())
    assert plan_json.document(made)["in_motion"] == ["compute/aml03"]
    assert "- compute/aml03 was not compared" in markdown.plan(made)


@pytest.mark.parametrize("card", ["compute-put-create", "compute-patch-scale"])
def test_a_resource_in_motion_shows_nulls_that_are_no_values(card: str) -> None:
    scale = CARDS[card].response.body["properties"]["properties"]["scaleSettings"]
    assert scale["nodeIdleTimeBeforeScaleDown"] is None
    assert [str(one.address) for one in of(card).plan.in_motion] == ["compute/aml03"]


def test_a_settled_one_is_compared() -> None:
    made = of("compute-get-after-patch").plan
    assert {one.at[0] for one in made.changes[0].fields} == {
        "max_instances",
        "idle_time_before_scale_down",
    }
    assert not made.in_motion


def test_a_cluster_is_scaled_by_a_patch_that_is_accepted_and_waited_for() -> None:
    service = Replayed.of(
        "compute-get-after-create", "compute-patch-scale", "compute-patch-scale-poll"
    )
    here = azure(service)
    address = Address("compute", "aml03")
    body = json.loads(json.dumps(here.backend.read([address])[address].body))
    scale = body["properties"]["properties"]["scaleSettings"]
    scale["maxNodeCount"] = 6
    here.backend.put(address, body).wait()
    assert service.bodies == [{"properties": {"properties": {"scaleSettings": scale}}}]
    assert here.asked[-2].startswith("GET 0000")  # the operation, and then the cluster
