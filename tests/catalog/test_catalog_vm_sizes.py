"""Sizes that the catalog knows, and those that are read off their names."""

from __future__ import annotations

import pytest

from mlctl import catalog


@pytest.mark.parametrize(
    ("name", "family", "vcpus", "gpus"),
    [
        ("standard_ds3_V2", "standardDSv2Family", 4, 0),
        ("Standard_D8s_v7", "standardDSv7Family", 8, 0),
        ("Standard_E32-8ads_v6", "standardEADSv6Family", 32, 0),
        ("Standard_NC16as_T4_v4", "standardNCASv4Family", 16, 1),
    ],
)
def test_a_size_is_known_or_read_off_its_name(
    name: str, family: str, vcpus: int, gpus: int
) -> None:
    size = catalog.size_of(name)
    assert size is not None
    assert (size.family, size.vcpus, size.gpus) == (family, vcpus, gpus)


@pytest.mark.parametrize("name", ["Standard_DS3_v9", "D8s_v5", "Standard_Ds_v5", "standard", ""])
def test_a_size_that_follows_no_convention_is_unknown(name: str) -> None:
    assert catalog.size_of(name) is None
