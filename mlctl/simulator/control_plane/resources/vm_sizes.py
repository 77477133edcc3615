"""VM sizes as the service knows them: those of the catalog, and newer ones by their names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from mlctl import catalog

# learn.microsoft.com/azure/virtual-machines/vm-naming-conventions: family, vCPUs (with a hyphen the
# constrained ones), features, accelerator, version. It holds from version 2 or 3 on, by series.
_CONVENTION = re.compile(
    r"standard_(?P<series>[abdefghlmn][a-z]{0,2}?)(?P<vcpus>\d{1,3})(?:-\d+)?(?P<features>[a-z]*)"
    r"(?:_(?:a10|a100|h100|h200|t4|mi300x|v620|v710))?_v(?P<version>[2-7])",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ParsedSize:
    """A size read off its name."""

    family: str
    vcpus: int
    gpus: int
    usd_per_hour: float | None = None


VmSize: TypeAlias = catalog.Size | ParsedSize


def find_size(text: str) -> VmSize | None:
    """The size called `text`, in any case; catalogs age, so Azure's naming convention helps out."""
    known = catalog.find_size(text)
    if known:
        return known
    match = _CONVENTION.fullmatch(text)
    if not match:
        return None
    series = (match["series"] + match["features"]).upper()
    gpus = 1 if series.startswith("N") else 0
    return ParsedSize(f"standard{series}v{match['version']}Family", int(match["vcpus"]), gpus)
