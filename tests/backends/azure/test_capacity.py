"""What a region allows, as the service's own example spells it."""

from __future__ import annotations

from mlctl import catalog
from mlctl.backends.ports.backend import Usage
from mlctl.pointer import Data
from tests.builders.azure import Between, azure, emulated, says

ML = "Microsoft.MachineLearningServices"


def line(sort: str, name: str, used: int, limit: int) -> Data:
    """A line of Usage/list.json (2024-04-01)."""
    told = {"value": name, "localizedValue": name}
    return {"type": f"{ML}/{sort}/usages", "currentValue": used, "limit": limit, "name": told}


def usage(*lines: Data) -> list[Usage]:
    answer = says(200, {"value": list(lines)})
    return azure(Between(emulated(), [("GET */usages", answer)])).backend.usage("eastus")


def test_the_totals_are_known_by_their_types() -> None:
    found = usage(
        line("totalCores", "Clusters", 7, 100),
        line("dedicatedCores", "Total Cluster Dedicated Regional vCPUs", 14, 24),
        line("lowPriorityCores", "Total Cluster LowPriority Regional vCPUs", 18, 50),
    )
    assert found == [
        Usage("computes", 7, 100),
        Usage("total", 14, 24),
        Usage("low_priority", 18, 50),
    ]


def test_families_are_spelt_as_the_list_of_sizes_spells_them() -> None:
    words = "Standard DSv2 Family Cluster Dedicated vCPUs"
    assert usage(line("vmFamily", words, 2, 24)) == [Usage("standardDSv2Family", 2, 24)]
    unheard = "Standard XYZv9 Family Cluster Dedicated vCPUs"
    assert usage(line("vmFamily", unheard, 0, 1)) == [Usage("standardXYZv9Family", 0, 1)]


def test_parts_of_a_total_do_not_count_again() -> None:
    words = "Standard NC Family Cluster Dedicated vCPUs"
    assert usage(line("workspaces", words, 6, 24)) == []
    assert usage(line("workspaces/computes", words, 6, 24)) == []
    assert usage(line("vmFamily", "Standard NC Family Cluster LowPriority vCPUs", 6, -1)) == []


def test_less_than_nothing_means_no_limit() -> None:
    assert usage(line("lowPriorityCores", "", 3, -1)) == [Usage("low_priority", 3, None)]


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


def test_the_sizes_of_the_emulator_are_those_of_the_catalogue() -> None:
    found = {one.name: one.usd_per_hour for one in azure(emulated()).backend.sizes("eastus")}
    assert found == {one.name: one.usd_per_hour for one in catalog.sizes().values()}
