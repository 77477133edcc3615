"""The monthly cost of a plan's nodes, for a terminal, for a pull request, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mlctl.catalog import prices
from mlctl.inert import code_span, prose, table_row
from mlctl.kinds import Address
from mlctl.planning.cost import HOURS, CostChange, Monthly, PlanCost, known_total
from mlctl.pointer import Data
from mlctl.render.terminal.terminal import clean

_UNKNOWN = "unknown"
_ROWS = 20  # resources that get their own line
_NAMED = 3  # resources that a sum names as omitted
_CENT = 2
_NARROW = 40


class _Row(NamedTuple):
    """A line of the table: one resource, or a sum of several (`address` is None)."""

    address: Address | None
    name: str
    remark: str
    before: Monthly
    after: Monthly


def human(cost: PlanCost, width: int) -> Iterator[str]:
    """Render the costs for a terminal of `width` columns; nothing if the plan changes no nodes."""
    rows = _rows(cost)
    if not rows:
        return
    cells = [(row.name, *_amounts(row), row.remark) for row in rows]
    heads = ("Monthly cost of nodes", "floor", "", "ceiling", "", "")
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    for line in (heads, *cells):
        name, *amounts, remark = (
            f"{text:<{width}}" if at in (0, len(widths) - 1) else f"{text:>{width}}"
            for at, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        floor, ceiling = " ".join(amounts[:2]), " ".join(amounts[2:])
        yield "  ".join((name, floor, ceiling, remark)).rstrip()
    import textwrap  # noqa: PLC0415 - few plans have a note on prices

    yield from textwrap.wrap(_note(cost), max(width, _NARROW), break_on_hyphens=False)


def markdown(cost: PlanCost) -> Iterator[str]:
    """Render a table for a pull request, with notes on the amounts."""
    rows = _rows(cost)
    if not rows:
        return
    yield "| monthly cost of nodes | floor | change | ceiling | change | |"
    yield "|---|--:|--:|--:|--:|---|"
    for row in rows:
        name = row.name.strip()
        label = code_span(name) if row.address is not None else name
        yield table_row((label, *_amounts(row), prose(row.remark)))
    yield ""
    yield _note(cost)


def lazy_document(cost: PlanCost) -> dict[str, Data]:
    """Return the costs as plain data; null is unknown. The sums cover everything that is declared.

    The costs of a resource are computed on demand.
    """
    price_lists = cost.price_lists
    return {
        "currency": "USD",
        "hours": HOURS,
        "before": _monthly(cost.before),
        "after": _monthly(cost.after),
        "resources": (
            {
                "address": str(change.address),
                "size": change.nodes.size,
                "region": change.region,
                "tier": "low_priority" if change.nodes.low_priority else "dedicated",
                "before": _monthly(change.before),
                "after": _monthly(change.after),
            }
            for change in cost.changes
        ),
        "prices": {
            "as_of": price_lists[0].as_of.isoformat(),
            "of": prices.OF,
            "source": "; ".join(price_list.source for price_list in price_lists),
        },
    }


def _monthly(cost: Monthly) -> dict[str, Data]:
    floor, ceiling = (
        None if amount is None else round(amount, _CENT) for amount in (cost.floor, cost.ceiling)
    )
    return {"floor": floor, "ceiling": ceiling}


def _rows(cost: PlanCost) -> list[_Row]:
    """Return the changes line by line, then the rest, then the total of several lines."""
    if not cost.pending:
        return []
    listed, unlisted = cost.pending[:_ROWS], cost.pending[_ROWS:]
    rows = [
        _Row(
            change.address,
            clean(f"  {change.address}"),
            _remark(change),
            change.before,
            change.after,
        )
        for change in listed
    ]
    stays = [change for change in cost.changes if not change.pending]
    for changes, name in (
        (unlisted, f"  and {len(unlisted)} more"),
        (stays, f"  {len(stays)} unchanged"),
    ):
        if changes:
            rows.append(_sum(name, changes))
    return [*rows, _sum("  total", cost.changes)] if len(rows) > 1 else rows


def _sum(name: str, of: Sequence[CostChange]) -> _Row:
    unknown = [clean(str(change.address)) for change in of if _is_unknown(change)]
    names = ", ".join(unknown[:_NAMED]) + (", ..." if len(unknown) > _NAMED else "")
    remark = f"without {names}" if unknown else ""
    before = known_total(change.before for change in of)
    return _Row(None, name, remark, before, known_total(change.after for change in of))


def _is_unknown(change: CostChange) -> bool:
    return None in (change.before.ceiling, change.after.ceiling)


def _remark(change: CostChange) -> str:
    size, tier = clean(change.nodes.size), " low priority" if change.nodes.low_priority else ""
    priced = f", no price known in {clean(change.region) or 'its region'}"
    return f"{size}{tier}{priced if _is_unknown(change) else ''}"


def _amounts(row: _Row) -> tuple[str, str, str, str]:
    """Return floor, its change, ceiling, its change."""
    old, new = row.before, row.after
    floor = _amount(new.floor), _change(old.floor, new.floor)
    return *floor, _amount(new.ceiling), _change(old.ceiling, new.ceiling)


def _amount(amount: float | None) -> str:
    return _UNKNOWN if amount is None else f"{amount:,.2f}"


def _change(old: float | None, new: float | None) -> str:
    """Format the change with its sign; "" if the cost is already marked as unknown."""
    if old is None or new is None:
        return "" if new is None else f"(was {_UNKNOWN})"
    change = new - old
    return f"({change:+,.2f})" if round(change, _CENT) else "(no change)"


def _note(cost: PlanCost) -> str:
    """Explain the amounts and where they come from."""
    fixed = any(change.nodes.least == change.nodes.most for change in cost.changes)
    addition = "; a fixed number of nodes counts in both" if fixed else ""
    meaning = (
        f"Floor: {HOURS} hours with min_instances; ceiling: with max_instances{addition}. USD,"
    )
    origins = "; ".join(
        f"{price_list.as_of.isoformat()} ({clean(price_list.source)})"
        for price_list in cost.price_lists
    )
    regions = ", ".join(dict.fromkeys(clean(change.region) for change in cost.changes))
    low = (
        "; low priority is Spot since 2026-03-31, at a price that moves"
        if cost.has_low_priority
        else ""
    )
    return f"{meaning} {prices.OF}, {regions}, {origins}{low}."
