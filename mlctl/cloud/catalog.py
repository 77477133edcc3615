"""A stand-in for the catalog of VM sizes and regions: the few that tests and samples need."""

from __future__ import annotations

from collections.abc import Mapping


from mlctl.cloud.ask import Retirement, Size
from mlctl.cloud.compute import VmSize

_SIZES = {
    f"standard_{name}": VmSize(family, vcpus, gpus)
    for name, family, vcpus, gpus in (
        ("ds1_v2", "standardDSv2Family", 1, 0),
        ("ds2_v2", "standardDSv2Family", 2, 0),
        ("ds3_v2", "standardDSv2Family", 4, 0),
        ("ds4_v2", "standardDSv2Family", 8, 0),
        ("ds5_v2", "standardDSv2Family", 16, 0),
        ("nc4as_t4_v3", "Standard NCASv3_T4 Family", 4, 1),
    )
}


def find_size(text: str, /) -> Size | None:
    """The size called `text`, in any case."""
    return _SIZES.get(text.casefold())


def retirement(text: str, /) -> Retirement | None:
    """When it goes."""
    return None


def knows_region(text: str, /) -> bool:
    """Whether there is such a region."""
    return text in ("eastus", "eastus2", "westeurope", "westus2")


def families() -> Mapping[str, bool]:
    """Family -> whether it has GPUs."""
    return {size.family: size.gpus > 0 for size in _SIZES.values()}
