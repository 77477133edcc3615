"""The tables of dated facts: their age, and what of Azure Machine Learning retires when."""

from __future__ import annotations

from datetime import date
from functools import cache
from pathlib import Path

from mlctl import catalog
from mlctl.catalog.prices import OLD_DAYS, header
from mlctl.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Retiring:
    """What retires on a day; `pattern` finds it in a line, `successor` is "" if there is none."""

    kind: str
    name: str
    pattern: str
    date: date
    successor: str
    source: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table of facts, its date, and its source."""

    name: str
    as_of: date
    source: str

    def is_old(self, today: date) -> bool:
        """Whether it is older than facts should be."""
        return (today - self.as_of).days > OLD_DAYS


@cache
def retiring_features() -> tuple[Retiring, ...]:
    """Return what has a retirement date, except for VM sizes."""
    return tuple(
        Retiring(**{**row, "date": date.fromisoformat(row["date"])})  # type: ignore[arg-type]
        for row in catalog.rows("features.csv")
    )


def retired_versions() -> tuple[Retiring, ...]:
    """Return the api-versions that are no longer accepted; the pattern is for `TYPE@VERSION`."""
    return tuple(row for row in retiring_features() if row.kind == "api_version")


# The tables that a plan relies on besides prices, by topic, with their names for people.
_USED_FOR = {
    "nodes": {
        "vm_sizes.csv": "VM sizes",
        "retirements.csv": "their retirements",
        "regions.csv": "regions",
        "catalog/limits.py (quotas)": "default quotas",
    },
    "low priority": {
        "catalog/limits.py (low priority)": "quotas of low priority",
        "config/rules/sizes.py (no Spot of B-series and promo sizes)": "sizes without Spot",
    },
    "registries": {"registries.csv": "assets of registries"},
    "schedules": {"time_zones.csv": "time zones"},
    "azure": {"backends/azure/arm.py (API version 2024-04-01)": "the API version"},
}


def used_for(*topics: str) -> list[Table]:
    """Return the tables that a plan relies on besides prices; topics are keys of `_USED_FOR`."""
    return [_table(text, name) for topic in topics for name, text in _USED_FOR[topic].items()]


def _table(name: str, table: str) -> Table:
    """Return a table by its file, or by its row in the table of facts in code."""
    if table.endswith(".csv"):
        with (Path(__file__).parent / table).open(encoding="utf-8") as lines:
            facts = header(lines.read(_HEAD))
    else:
        facts = next(row for row in catalog.rows("in_code.csv") if row["name"] == table)
    return Table(name, date.fromisoformat(facts["as_of"]), facts["source"])


_HEAD = 2000  # characters: comments come first


@cache
def every_table() -> tuple[Table, ...]:
    """Return all tables of dated facts, oldest first."""
    folder = Path(__file__).parent
    headers = {file.name: header(file.read_text(encoding="utf-8")) for file in folder.glob("*.csv")}
    headers |= {row["name"]: row for row in catalog.rows("in_code.csv")}
    del headers["in_code.csv"]
    dated_tables = (
        Table(name, date.fromisoformat(facts["as_of"]), facts["source"])
        for name, facts in headers.items()
    )
    return tuple(sorted(dated_tables, key=lambda table: (table.as_of, table.name)))
