"""A stand-in for the catalog of VM sizes and regions: the few that tests and samples need."""

from __future__ import annotations

from collections.abc import Container, Mapping

from mlctl.cloud.ask import Retirement, Size
from mlctl.cloud.sizes import Named

_SIZES = {
    f"standard_{name}": Named(family, vcpus, gpus)
    for name, family, vcpus, gpus in (
        ("ds1_v2", "standardDSv2Family", 1, 0),
        ("ds2_v2", "standardDSv2Family", 2, 0),
        ("ds3_v2", "standardDSv2Family", 4, 0),
        ("ds4_v2", "standardDSv2Family", 8, 0),
        ("ds5_v2", "standardDSv2Family", 16, 0),
        ("nc4as_t4_v3", "Standard NCASv3_T4 Family", 4, 1),
    )
}


def sizes() -> Mapping[str, Size]:
    """Every size by its name in lower case."""
    return _SIZES


def find_size(text: str, /) -> Size | None:
    """The size called `text`, in any case."""
    return _SIZES.get(text.casefold())


def retirement(text: str, /) -> Retirement | None:  # noqa: ARG001
    """When it goes."""
    return None


def regions() -> Container[str]:
    """The regions, as ARM spells them."""
    return ("eastus", "eastus2", "westeurope", "westus2", "westus", "northeurope")
