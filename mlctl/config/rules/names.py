"""Names: two resources cannot have the same address."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mlctl.config.graph import Graph
from mlctl.config.rules.base import RuleContext, finding
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.kinds import Address, Resource
from mlctl.pointer import Data, Pointer, dotted
from mlctl.schema.text import listed

DUPLICATE = Rule("MLC201", "duplicate-address", Severity.ERROR)
CONFLICT = Rule("MLC202", "conflicting-asset", Severity.ERROR)


def duplicates(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC201."""
    for first, second in graph.repeated:
        if second.owner is not None:  # both deployments own what they share
            continue
        respelt = str(first.address) != str(second.address)
        yield finding(
            DUPLICATE,
            second,
            second.label(("name",)),
            f"`{second.address}` is declared twice"
            + (": names do not differ by case" if respelt else ""),
            "rename one of the two, or remove it",
            first.label(("name",), "first declared here"),
        )


def conflicts(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC202; two separate documents are MLC201."""
    assets_by_address: dict[Address, Resource] = {}
    for asset in graph.with_inline_assets:
        if asset.address.version is None:
            continue
        first = assets_by_address.setdefault(asset.address, asset)
        differences = _differences(first, asset) if first.owner or asset.owner else []
        if differences:
            yield finding(
                CONFLICT,
                asset,
                asset.label(("name",)),
                f"`{asset.address}` is described in two ways: {listed(differences, 'and')}"
                f" {'differs' if len(differences) == 1 else 'differ'}",
                "describe it once and refer to it, or give the other content another version",
                first.label(("name",), "first described here"),
            )


def _differences(first: Resource, second: Resource) -> list[str]:
    first_content, right = _content(first), _content(second)
    return [
        dotted(at) for at in {**first_content, **right} if first_content.get(at) != right.get(at)
    ]


def _content(asset: Resource) -> Mapping[Pointer, Data]:
    """Return the values of an asset, with paths relative to the working directory."""
    paths = {field.at for field in asset.form.fields if field.path}
    return {
        at: asset.document.folder / value if at in paths and isinstance(value, str) else value
        for at, value in asset.values.items()
    }


CHECKS = (duplicates, conflicts)
