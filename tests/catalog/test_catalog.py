"""What is known of VM sizes, their retirements and the regions."""

from __future__ import annotations

from datetime import date

import pytest

from mlctl import catalog


def test_a_size_is_found_in_any_letter_case() -> None:
    size = catalog.find_size("STANDARD_DS3_V2")
    assert size is not None
    assert (size.name, size.vcpus, size.memory_gib) == ("Standard_DS3_v2", 4, 14.0)


def test_an_unknown_size_is_none() -> None:
    assert catalog.find_size("Standard_Banana") is None


def test_what_is_not_known_is_none_and_not_zero() -> None:
    sizes = catalog.sizes().values()
    assert {size.low_priority_capable for size in sizes} == {True, None}
    assert all(size.vcpus > 0 and size.memory_gib > 0 for size in sizes)


@pytest.mark.parametrize(
    ("size", "day", "successor"),
    [
        ("Standard_NC6", "2023-08-31", "Standard_NC8as_T4_v3"),
        ("Standard_NC6_Promo", "2023-08-31", "Standard_NC8as_T4_v3"),
        ("Standard_NC24s_v2", "2023-08-31", "Standard_NC24ads_A100_v4"),
        ("Standard_NC999s_v3", "2025-09-30", "Standard_NC96ads_A100_v4"),
        ("Standard_ND6s", "2023-08-31", "Standard_NC24ads_A100_v4"),
        ("Standard_NV6", "2023-08-31", "Standard_NV6ads_A10_v5"),
        ("Standard_A8", "2024-08-31", "Standard_D8ds_v5"),
        ("Standard_HB60rs", "2024-08-31", "Standard_HB120rs_v3"),
        ("standard_nc24rs_v3", "2025-03-31", "Standard_NC24ads_A100_v4"),
        ("Standard_NC24s_v3", "2025-09-30", "Standard_NC24ads_A100_v4"),
        ("Standard_DC8_v2", "2026-06-30", None),
        ("Standard_NV48s_v3", "2026-09-30", "Standard_NV72ads_A10_v5"),
        ("Standard_NV4as_v4", "2026-09-30", "Standard_NV6ads_A10_v5"),
        ("Standard_M192idms_v2", "2027-03-31", None),
        ("Standard_HB120rs_v2", "2027-05-31", "Standard_HB120rs_v3"),
        ("Standard_HC44rs", "2027-05-31", "Standard_HB120rs_v3"),
        ("STANDARD_DS3_V2", "2028-05-01", "Standard_D4ds_v5"),
        ("Standard_DS13_v2", "2028-05-01", "Standard_E8ds_v5"),
        ("Standard_D2", "2028-05-01", "Standard_D2ds_v5"),
        ("Standard_D4s_v3", "2029-11-15", "Standard_D4ds_v5"),
        ("Standard_E8s_v3", "2029-11-15", "Standard_E8ds_v5"),
        ("Standard_F4", "2028-11-15", "Standard_D4ds_v5"),
        ("Standard_B2s", "2028-11-15", "Standard_D2ls_v5"),
        ("Standard_L8s_v2", "2028-11-15", "Standard_L8s_v3"),
    ],
)
def test_a_size_is_known_to_retire_by_its_name(size: str, day: str, successor: str | None) -> None:
    found = catalog.retirement(size)
    assert found is not None
    assert (found.date.isoformat(), found.successor) == (day, successor)


@pytest.mark.parametrize(
    "size",
    [
        *("Standard_D4s_v4", "Standard_D4ds_v5", "Standard_E8s_v5", "Standard_B2s_v2"),
        *("Standard_NC4as_T4_v3", "Standard_ND40rs_v2", "Standard_HB120rs_v3", "Standard_HX176rs"),
        *("Standard_L8s_v3", "Standard_NV36ads_A10_v5", "Standard_FX4mds", "Standard_Banana"),
    ],
)
def test_a_size_of_a_living_series_does_not_retire(size: str) -> None:
    assert catalog.retirement(size) is None


def test_every_successor_outlives_what_it_succeeds() -> None:
    retiring = [found for size in catalog.sizes() if (found := catalog.retirement(size))]
    assert all(found.successor and not catalog.retirement(found.successor) for found in retiring)
    assert all(found.source and found.date > date(2020, 1, 1) for found in retiring)


@pytest.mark.parametrize("region", ["eastus2", "East US 2", "WestEurope"])
def test_a_region_goes_by_its_name_and_its_display_name(region: str) -> None:
    assert catalog.knows_region(region)


def test_an_unknown_region_is_unknown() -> None:
    assert not catalog.knows_region("moonbase")
