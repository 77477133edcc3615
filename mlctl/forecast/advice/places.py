"""Alternative regions and VM sizes for a cluster, as far as the price list has both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mlctl import catalog
from mlctl.dataclasses import replace
from mlctl.forecast.batch.reading import Subject
from mlctl.forecast.fields import ForecastError, StatedPrices, value_of
from mlctl.forecast.scenario import Scenario

ALIKE, ALL_KNOWN = "alike", "all-known"
_MORE_MEMORY = 1.25  # of similar sizes: series of the same shape differ by about an eighth


class Place(NamedTuple):
    """A VM size in a region, and the job on nodes of it.

    Draws do not depend on it: the job has the same luck everywhere. `eviction_rate` is the price
    list's rate for Spot, in percent per hour; "" is unknown.
    """

    size: str
    region: str
    scenario: Scenario
    eviction_rate: str = ""


def own_place(subject: Subject, stated: StatedPrices) -> Place:
    """Return the cluster's own place."""
    size = str(value_of(subject.cluster, "size") or "")
    region = catalog.region(stated.region_of(subject.cluster))
    rate = stated.price_list.price(size, region).eviction_rate
    return Place(size, region, subject.scenario, rate)


def places(
    subject: Subject, stated: StatedPrices, regions: Sequence[str], sizes: Sequence[str]
) -> tuple[list[Place], list[str]]:
    """Return the other places of these regions and sizes (none: its own), and unpriced ones.

    Raises:
        ForecastError: there is no such region or size.
    """
    own = own_place(subject, stated)
    priced = stated.price_list.every_price
    all_regions = sorted({region for _, region in priced})
    chosen = list(_regions(regions, all_regions)) or [own.region]
    tried, unknown = [own], list[str]()
    for size in list(_sizes(sizes, own.size)) or [own.size]:
        for region in chosen:
            if (size.casefold(), region) == (own.size.casefold(), own.region):
                continue
            price, vm_size = stated.price_list.price(size, region), catalog.size_of(size)
            if price.dedicated is None or price.spot is None or vm_size is None:
                unknown.append(f"{size} in {region}")
                continue
            cluster = replace(subject.scenario.cluster, price=price.dedicated, cores=vm_size.vcpus)
            scenario = replace(subject.scenario, cluster=cluster, low_priority_price=price.spot)
            tried.append(Place(size, region, scenario, price.eviction_rate))
    return tried, unknown


def _regions(names: Sequence[str], known: Sequence[str]) -> Iterator[str]:
    for name in names:
        if name == ALL_KNOWN:
            yield from known
        elif catalog.knows_region(name):
            yield catalog.region(name)
        else:
            raise ForecastError(f"`{name}` is not an Azure region: write its name, or {ALL_KNOWN}")


def _sizes(names: Sequence[str], own: str) -> Iterator[str]:
    """Yield the named sizes, or those like its own.

    They have the same cores and GPUs, at least as much memory, and no retirement date.
    """
    for name in names:
        size = catalog.find_size(own if name == ALIKE else name)
        if size is None:
            raise ForecastError(f"the size `{own if name == ALIKE else name}` is unknown")
        if name != ALIKE:
            yield size.name
            continue
        for candidate in catalog.sizes().values():
            shape = (size.vcpus, size.gpus, size.gpu_type)
            alike = shape == (candidate.vcpus, candidate.gpus, candidate.gpu_type)
            alike = alike and 1 <= candidate.memory_gib / size.memory_gib <= _MORE_MEMORY
            if alike and catalog.retirement(candidate.name) is None:
                yield candidate.name
