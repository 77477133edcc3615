"""Dated facts about Azure: VM sizes, their retirements, regions.

The catalog may be out of date, so an unknown size or region is at most a warning.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from datetime import date
from functools import cache, lru_cache
from pathlib import Path

from mlctl.catalog import limits
from mlctl.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """A VM size. `usd_per_hour`: a dedicated node's price from a service; None if unknown."""

    name: str
    family: str
    vcpus: int
    memory_gib: float
    gpus: int
    gpu_type: str
    low_priority_capable: bool | None
    usd_per_hour: float | None = None


@dataclass(frozen=True, slots=True)
class Retirement:
    """When a size's series retires, and a size to move to, if known."""

    series: str
    date: date
    successor: str | None
    source: str


@dataclass(frozen=True, slots=True)
class RegistryAsset:
    """An asset of a registry: its kind, its name, its newest version and its type."""

    registry: str
    kind: str
    name: str
    version: str
    type: str


@cache
def registry_assets(registry: str, kind: str) -> Mapping[str, RegistryAsset]:
    """Return the known assets of a kind in a registry, by lower-cased name."""
    assets = (RegistryAsset(**row) for row in rows("registries.csv"))
    return {
        asset.name.casefold(): asset
        for asset in assets
        if (asset.registry, asset.kind) == (registry.casefold(), kind)
    }


@cache
def sizes() -> Mapping[str, Size]:
    """Return every known size, by lower-cased name."""
    return {row["name"].casefold(): _size(row) for row in rows("vm_sizes.csv")}


def find_size(text: str) -> Size | None:
    """Return the size called `text`, in any case."""
    return sizes().get(text.casefold())


# learn.microsoft.com/azure/virtual-machines/vm-naming-conventions: family, vCPUs (with a hyphen the
# constrained ones), features, accelerator, version. It holds from version 2 or 3 on, by series.
_CONVENTION = (  # compiled only if a size is not listed
    r"standard_(?P<series>[abdefghlmn][a-z]{0,2}?)(?P<vcpus>\d{1,3})(?:-\d+)?(?P<features>[a-z]*)"
    r"(?:_(?:a10|a100|h100|h200|t4|mi300x|v620|v710))?_v(?P<version>[2-7])"
)


@cache
def size_of(text: str) -> Size | None:
    """Return the size called `text`, in any case; unlisted ones are derived from the name.

    Of such a size only the family, the vCPUs and whether it has a GPU are known.
    """
    size = find_size(text)
    match = None if size else re.fullmatch(_CONVENTION, text, re.IGNORECASE)
    if not match:
        return size
    series = (match["series"] + match["features"]).upper()
    family = f"standard{series}v{match['version']}Family"
    gpus = 1 if series.startswith("N") else 0
    return Size(text, family, int(match["vcpus"]), 0.0, gpus, "", None)


def family(text: str) -> str:
    """Return the VM family called `text`, in any case and with or without blanks.

    It is spelt as in the catalog; an unlisted one keeps its spelling.
    """
    return _families().get(limits.quota_key(text), text)


@cache
def _families() -> Mapping[str, str]:
    return {limits.quota_key(size.family): size.family for size in sizes().values()}


_MAYBE = "s(\\["  # an optional `s`, or no letter: patterns that select little


@cache
def retirement(text: str) -> Retirement | None:
    """Return the retirement of a size, listed or not: the series follows from the name."""
    bare = text.casefold().removeprefix("standard_").removeprefix("basic_")
    for row in _retirements():
        pattern = row["pattern"]  # it begins with a letter; compile only if it can match
        if bare[:1] != pattern[0] or (bare[1:2] != pattern[1] and pattern[1] not in _MAYBE):
            continue
        if re.fullmatch(pattern, bare):
            successor = _successor(row["successor"], text)
            return Retirement(
                row["series"], date.fromisoformat(row["date"]), successor, row["source"]
            )
    return None


@cache
def regions() -> frozenset[str]:
    """Return the names of the public regions: `eastus2`, `westeurope`, ..."""
    return frozenset(row["name"] for row in rows("regions.csv"))


def region(text: object) -> str:
    """Return a region in ARM's spelling, from name or display name: `East US 2` -> `eastus2`."""
    return _spelled_as_in_arm(str(text))


@lru_cache(maxsize=256)
def _spelled_as_in_arm(text: str) -> str:
    return text.replace(" ", "").casefold()


def knows_region(text: str) -> bool:
    """Whether `text` is a region's name or display name (`West Europe`), in any case."""
    return region(text) in regions()


# The vCPUs of the sizes in a successor series.
_STEPS = {
    "Standard_D{}ds_v5": (2, 4, 8, 16, 32, 48, 64, 96),
    "Standard_D{}ls_v5": (2, 4, 8, 16, 32, 48, 64, 96),
    "Standard_E{}ds_v5": (2, 4, 8, 16, 20, 32, 48, 64, 96),
    "Standard_L{}s_v3": (8, 16, 32, 48, 64, 80),
    "Standard_NC{}as_T4_v3": (4, 8, 16, 64),
    "Standard_NC{}ads_A100_v4": (24, 48, 96),
    "Standard_NV{}ads_A10_v5": (6, 12, 18, 36, 72),
}


def _successor(template: str, text: str) -> str | None:
    """Return the smallest size of the successor series with enough vCPUs, else the largest."""
    if template not in _STEPS:
        return template or None
    size = find_size(text)
    number = re.search(r"\d+", text)
    vcpus = size.vcpus if size else int(number[0]) if number else 0
    steps = _STEPS[template]
    return template.format(next((step for step in steps if step >= vcpus), steps[-1]))


@cache
def _retirements() -> tuple[Mapping[str, str], ...]:
    return tuple(rows("retirements.csv"))


def _size(row: Mapping[str, str]) -> Size:
    capable = row["low_priority_capable"]
    return Size(
        row["name"],
        row["family"],
        int(row["vcpus"]),
        float(row["memory_gib"]),
        int(row["gpus"]),
        row["gpu_type"],
        capable == "true" if capable else None,
    )


def rows(name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a table of the catalog."""
    with Path(__file__).with_name(name).open(encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(line for line in lines if not line.startswith("#"))
