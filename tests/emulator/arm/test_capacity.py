"""Usages, quotas and sizes of a region have the form that was recorded."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pytest

import conformance as cards
from mlctl.emulator.arm.capacity import localized
from mlctl.pointer import Data
from tests.builders.emulator import CLUSTER, WS, world

PLACE = "/subscriptions/sub/providers/Microsoft.MachineLearningServices/locations/eastus"
CARDS = {card.id: card for card in cards.load()}


def rows(what: str) -> list[Data]:
    """A list of a region in which two workspaces are."""
    here = world()
    for workspace in (WS, f"{WS}-too"):
        here.made(f"{workspace}/computes/cpu{len(workspace)}", CLUSTER)
    return list(here.get(f"{PLACE}/{what}").data["value"])


def form(row: Mapping[str, Data]) -> Data:
    """The keys of a row in their order, with the types of their values."""
    return [(key, type(value).__name__) for key, value in row.items()]


def sort(row: Mapping[str, Data]) -> str:
    return str(row["type"])


@pytest.mark.parametrize("what", ["usages", "quotas"])
def test_rows_have_the_recorded_keys_types_and_order(what: str) -> None:
    recorded = CARDS[f"{what}-list"].response.body["value"]
    shapes = {sort(row): form(row) for row in recorded}
    found = rows(what)
    assert {sort(row) for row in found} == shapes.keys()
    for row in found:
        assert form(row) == shapes[sort(row)]
    kinds = list(dict.fromkeys(map(sort, found)))
    assert kinds == list(dict.fromkeys(map(sort, recorded)))


@pytest.mark.parametrize("what", ["usages", "quotas"])
def test_nothing_but_the_rows_is_said(what: str) -> None:
    here = world()
    assert list(here.get(f"{PLACE}/{what}").data) == ["value"]


def test_a_cluster_counts_in_the_totals_and_in_its_family() -> None:
    used = {
        row["name"]["value"]: row["currentValue"] for row in rows("usages") if row["currentValue"]
    }
    assert used == {"TotalClusters": 2, "TotalDedicatedCores": 32, "standardDSv2Family": 32}


def test_a_low_priority_cluster_counts_in_its_family_too() -> None:
    here = world()
    low: Any = copy.deepcopy(CLUSTER)
    low["properties"]["properties"]["vmPriority"] = "LowPriority"
    here.made(f"{WS}/computes/cpu", low)
    found = [row for row in here.get(f"{PLACE}/usages").data["value"] if row["currentValue"]]
    assert [(row["type"].partition("/")[2], row["limit"]) for row in found] == [
        ("totalClusters/usages", 500),
        ("totalLowPriorityCores/usages", 100),
        ("vmFamily/lowPriorityCores/usages", -1),
    ]


def test_every_workspace_of_the_region_follows_its_family() -> None:
    found = rows("quotas")
    assert len(found) % 3 == 0
    for family, one, other in zip(found[::3], found[1::3], found[2::3], strict=True):
        assert one["name"] == other["name"] == family["name"]
        assert one["id"] != other["id"]
        assert [each["location"] for each in (family, one, other)] == [None, "eastus", "eastus"]


@pytest.mark.parametrize(
    ("row", "tier"),
    [
        (row, "Dedicated" if "dedicated" in row["type"] else "LowPriority")
        for row in CARDS["usages-list"].response.body["value"]
        if "vmFamily" in row["type"]
    ],
    ids=lambda each: (
        each["type"].split("/")[2] + each["name"]["value"] if isinstance(each, dict) else ""
    ),
)
def test_the_words_of_a_family_are_those_of_the_service(row: Mapping[str, Data], tier: str) -> None:
    assert localized(row["name"]["value"], tier) == row["name"]["localizedValue"]


def test_an_update_of_nothing_is_answered_with_nothing() -> None:
    assert world().ask("POST", f"{PLACE}/updateQuotas", {"value": []}).data == {"value": []}


@pytest.mark.parametrize(
    ("family", "status"),
    [("standardDSv2Family", "OperationNotEnabledForRegion"), ("NoFamily", "InvalidVMFamilyName")],
)
def test_quotas_of_workspaces_cannot_be_set(family: str, status: str) -> None:
    wanted = {"id": f"/x/quotas/{family}", "type": "t", "limit": 4, "unit": "Count"}
    answer = world().ask("POST", f"{PLACE}/updateQuotas", {"value": [wanted]})
    assert answer.data == {"value": [{**wanted, "status": status}]}


def test_sizes_have_the_recorded_keys_types_and_order() -> None:
    recorded = CARDS["vmsizes-list"].response.body["value"]
    shapes = [form(row) for row in recorded]
    found = {row["name"]: row for row in world().get(f"{PLACE}/vmSizes").data["value"]}
    for row in found.values():
        assert form(row) in shapes
    for row in recorded:
        ours = found.get(row["name"], {})
        for key in ours.keys() & row.keys() - {"estimatedVMPrices", "maxResourceVolumeMB"}:
            assert key == "supportedComputeTypes" or ours[key] == row[key], (row["name"], key)


def test_prices_are_by_tier() -> None:
    found = {row["name"]: row for row in world().get(f"{PLACE}/vmSizes").data["value"]}
    prices = found["Standard_DS3_v2"]["estimatedVMPrices"]["values"]
    assert [(one["osType"], one["vmTier"]) for one in prices] == [
        ("Linux", "Standard"),
        ("Linux", "LowPriority"),
    ]
    assert prices[0]["retailPrice"] > prices[1]["retailPrice"] > 0
