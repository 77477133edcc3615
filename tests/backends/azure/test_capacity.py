"""What a region allows, as it was recorded."""

from __future__ import annotations

import pytest

import conformance as cards
from mlctl import catalog
from mlctl.backends.ports.backend import Usage
from mlctl.catalog import prices
from mlctl.pointer import Data
from tests.builders.azure import Between, azure, emulated, says
from tests.builders.plans import codes, planned
from tests.builders.replayed import Replayed
from tests.builders.resources import compute

ML = "Microsoft.MachineLearningServices"


CARDS = {card.id: card for card in cards.load()}


def line(sort: str, name: str, used: int, limit: int) -> Data:
    """A row of usages."""
    told = {"value": name, "localizedValue": name}
    return {"type": f"{ML}/{sort}/usages", "currentValue": used, "limit": limit, "name": told}


def usage(*lines: Data) -> list[Usage]:
    answer = says(200, {"value": list(lines)})
    return azure(Between(emulated(), [("GET */usages", answer)])).backend.usage("eastus")


def test_the_recorded_usages_are_understood() -> None:
    found = {one.family: one for one in usage(*CARDS["usages-list"].response.body["value"])}
    assert found["computes"] == Usage("computes", 3, 200)
    assert found["total"] == Usage("total", 20, 20)
    assert found["low_priority"] == Usage("low_priority", 0, 0)
    assert found["standardDSv2Family"] == Usage("standardDSv2Family", 4, 6)
    assert found["Standard NCASv3_T4 Family"].limit == 0
    assert found["low_priority/standardDSv2Family"].limit is None
    assert len(found) == len(CARDS["usages-list"].response.body["value"])


@pytest.mark.parametrize(
    "spelt",
    ["standardDSv2Family", "StandardDSV2family", "Standard DSv2 Family", "STANDARDDSV2FAMILY"],
)
def test_families_are_spelt_as_the_catalogue_spells_them(spelt: str) -> None:
    assert usage(line("vmFamily/dedicatedCores", spelt, 2, 24)) == [
        Usage("standardDSv2Family", 2, 24)
    ]


def test_a_family_that_is_not_listed_keeps_its_name() -> None:
    assert usage(line("vmFamily/dedicatedCores", "Standard XYZv9 Family", 0, 1)) == [
        Usage("Standard XYZv9 Family", 0, 1)
    ]


def test_types_are_known_in_any_letter_case_and_others_are_not_ours() -> None:
    assert usage(line("TotalDedicatedCores", "", 1, 2)) == [Usage("total", 1, 2)]
    assert usage(line("workspaces/dedicatedCores", "standardNCFamily", 6, 24)) == []
    assert usage(line("totalCores", "Clusters", 6, 24)) == []


def test_less_than_nothing_means_no_limit_of_its_own() -> None:
    assert usage(line("totalLowPriorityCores", "", 3, -1)) == [Usage("low_priority", 3, None)]
    assert usage(line("vmFamily/lowPriorityCores", "standardDFamily", 3, 8)) == [
        Usage("low_priority/standardDFamily", 3, 8)
    ]


def test_the_sizes_of_a_region_are_those_that_the_service_has() -> None:
    price = {"retailPrice": 0.229, "osType": "Linux", "vmTier": "Standard"}
    dear = {"retailPrice": 9.0, "osType": "Windows", "vmTier": "Standard"}
    told = {
        "name": "Standard_New_v9",
        "family": "standardNewFamily",
        "vCPUs": 4,
        "gpus": 1,
        "memoryGB": 14,
        "lowPriorityCapable": True,
        "supportedComputeTypes": ["AmlCompute", "ComputeInstance"],
        "estimatedVMPrices": {"values": [dear, price]},
    }
    alone = {**told, "name": "Standard_Alone", "supportedComputeTypes": ["ComputeInstance"]}
    bare = {"name": "Standard_DS3_v2"}
    answer = says(200, {"value": [told, alone, bare]})
    between = Between(emulated(), [("GET */locations/westus/vmSizes", answer)])
    new, poor = azure(between).backend.sizes("westus")
    assert (new.name, new.vcpus, new.usd_per_hour) == ("Standard_New_v9", 4, 0.229)
    assert (poor.name, poor.vcpus, poor.usd_per_hour) == ("Standard_DS3_v2", 0, None)


def test_of_two_prices_of_a_size_the_least_counts() -> None:
    sizes = {
        one.name: one.usd_per_hour
        for one in azure(Replayed.of("vmsizes-list")).backend.sizes("eastus")
    }
    assert sizes["Standard_D16ads_v5"] == 0.82
    assert (sizes["Standard_D16as_v4"], sizes["Standard_D1"]) == (0.77, None)


def test_the_sizes_of_the_emulator_are_those_of_the_catalogue() -> None:
    found = {one.name: one.usd_per_hour for one in azure(emulated()).backend.sizes("eastus")}
    listed = prices.own_prices()
    names = [one.name for one in catalog.sizes().values()]
    assert found == {name: listed.price(name, "eastus").dedicated for name in names}
    (west,) = [
        one for one in azure(emulated()).backend.sizes("westus3") if one.name == "Standard_DS3_v2"
    ]
    assert west.usd_per_hour == 0.229


@pytest.mark.parametrize(
    ("size", "tier", "refused", "told"),
    [
        (
            "STANDARD_DS3_v2",
            "dedicated",
            [],
            "6 standardDSv2Family cores: jobs get at most 1",
        ),
        ("Standard_D8s_v3", "dedicated", [], "20 dedicated cores: jobs get at most 2 nodes"),
        ("Standard_DS4_v2", "dedicated", ["MLC405"], "1 node of Standard_DS4_v2 needs 8"),
        ("Standard_NC4as_T4_v3", "dedicated", ["MLC405"], "Standard NCASv3_T4 Family cores"),
        ("STANDARD_DS3_v2", "low_priority", ["MLC405"], "allows 0 low-priority cores"),
    ],
)
def test_a_plan_reads_the_recorded_usages(
    size: str, tier: str, refused: list[str], told: str
) -> None:
    """20 of 20 dedicated cores are in use there, and Azure took 8 nodes of DS3_v2."""
    usages = says(200, CARDS["usages-list"].response.body)
    backend = azure(Between(emulated(), [("GET */usages", usages)])).backend
    made = planned(backend, compute(size=size, tier=tier, max_instances=8)).plan
    assert codes(made) == refused
    assert any(told in one.message for one in (*made.rejections, *made.warnings))
