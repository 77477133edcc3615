"""VM sizes: retired, retiring, unknown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from mlctl import catalog
from mlctl.config.graph import Graph
from mlctl.config.rules import base
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.kinds import Resource
from mlctl.schema.text import nearest, placeholder

_WARN_YEARS = 2

RETIRED_SIZE = Rule("MLC304", "retired-size", Severity.ERROR)
RETIRING_SIZE = Rule("MLC305", "retiring-size", Severity.WARNING)
UNKNOWN_SIZE = Rule("MLC306", "unknown-size", Severity.WARNING)
NOT_LOW_PRIORITY = Rule("MLC318", "size-not-low-priority", Severity.WARNING)

# Azure's naming: family, vCPUs, constrained vCPUs, features, accelerator or memory, version. The
# series with other names are in the catalog or have a retirement date.
_CORES = r"(?:1|\d*[02468])(?:-\d+)?[a-z]*"
_MORE = r"(?:_cc)?(?:_ndr)?(?:_[a-z]*\d+[a-z0-9]*)?"
_MODERN = (  # compiled only if a size is not in the catalog
    rf"standard_(?:b|d|dc|e|ec|eb|f|fx|hb|hx|l|m|nc|ncc|nd|ng|np|nv){_CORES}{_MORE}_v(?:[3-9]|1\d)"
    rf"|standard_(?:b|dc|fx|hb|l|m|nd){_CORES}{_MORE}_v2"
    rf"|standard_(?:dc|fx|hc|m|np){_CORES}|standard_ng{_CORES}{_MORE}_v1"
)
# The place of the tier, its preemptible value, and what to write instead.
_CLUSTER_TIER = ("tier",), "low_priority", "tier: dedicated"
_JOB_TIER = ("queue_settings", "job_tier"), "spot", "job_tier: standard"
_DEDICATED_ONLY = re.compile(r"standard_(?:b\d+(?:ls|ms|s)|.+_promo)")


def retired_size(graph: Graph, context: base.RuleContext) -> Iterator[Diagnostic]:
    """MLC304 and MLC305: retired sizes, and those that retire within two years."""
    for resource, at, size in _sizes(graph):
        end = catalog.retirement(size)
        if end is None or not _is_near(end.date, context.today):
            continue
        is_retired = end.date <= context.today
        yield base.finding(
            RETIRED_SIZE if is_retired else RETIRING_SIZE,
            resource,
            at,
            f"`{size}` {'retired' if is_retired else 'retires'} on {end.date.isoformat()}",
            f"use {f'`{end.successor}`' if end.successor else 'a size of a newer series'}"
            + ("; a new size replaces the cluster" if resource.kind.quota.has_nodes else ""),
        )


def unknown_size(graph: Graph, _context: base.RuleContext) -> Iterator[Diagnostic]:
    """MLC306."""
    for resource, at, size in _sizes(graph):
        if catalog.find_size(size) or _is_named_like_one(size):
            continue
        near = nearest(_add_prefix(size), (listed.name for listed in catalog.sizes().values()))
        hint = f"did you mean `{near}`?" if near else "see `az ml compute list-sizes`"
        yield base.finding(UNKNOWN_SIZE, resource, at, f"the VM size `{size}` is unknown", hint)


def not_low_priority(graph: Graph, _context: base.RuleContext) -> Iterator[Diagnostic]:
    """MLC318."""
    for resource, at, size in _sizes(graph):
        tier, spare, lasting = _CLUSTER_TIER if resource.kind.quota.has_nodes else _JOB_TIER
        place = catalog.region(resource.text("location") or "")
        in_china = place.startswith("china")
        if base.enum_value(resource, *tier) == spare and (in_china or _is_dedicated_only(size)):
            where = f"in {place}, which has no Spot VMs" if in_china else f"of `{size}`"
            message = f"there are no low-priority nodes {where}"
            hint = f"write `{lasting}`" if in_china else f"take another size, or write `{lasting}`"
            yield base.finding(NOT_LOW_PRIORITY, resource, at, message, hint, resource.label(tier))


def _is_dedicated_only(size: str) -> bool:
    listed = catalog.find_size(size)
    is_listed = listed is not None and listed.low_priority_capable is False
    return is_listed or _DEDICATED_ONLY.fullmatch(size.casefold()) is not None


def _is_named_like_one(size: str) -> bool:
    bare = size.casefold()
    if not bare.startswith("standard_"):
        return False
    return catalog.retirement(size) is not None or re.fullmatch(_MODERN, bare) is not None


def _sizes(graph: Graph) -> Iterator[tuple[Resource, tuple[str, ...], str]]:
    """Yield the sizes that clusters and serverless jobs set, with their positions."""
    for resource in base.declared(graph):
        at = tuple(map(str, resource.kind.quota.vm_size))
        if not at or (resource.kind.runs and not base.is_serverless(resource)):
            continue
        size = resource.text(*at)
        if size and not placeholder(size):
            yield resource, at, size


def _is_near(end: date, today: date) -> bool:
    return (end.year - _WARN_YEARS, end.month, end.day) <= (today.year, today.month, today.day)


def _add_prefix(size: str) -> str:
    return size if size.casefold().startswith(("standard", "basic")) else f"Standard_{size}"


CHECKS = (retired_size, unknown_size, not_low_priority)
