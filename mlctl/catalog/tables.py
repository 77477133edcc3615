"""The tables of dated facts: how old each is, and what of Azure Machine Learning retires when."""

from __future__ import annotations

from datetime import date
from functools import cache
from pathlib import Path

from mlctl import catalog
from mlctl.catalog.prices import OLD_DAYS, header
from mlctl.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Retiring:
    """What is retired on a day; `pattern` finds it in a line, `successor` is "" where none is."""

    kind: str
    name: str
    pattern: str
    date: date
    successor: str
    source: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table of facts, the day as of which they hold, and where they are from."""

    name: str
    as_of: date
    source: str

    def is_old(self, today: date) -> bool:
        """Whether it is older than facts should be."""
        return (today - self.as_of).days > OLD_DAYS


@cache
def retiring_features() -> tuple[Retiring, ...]:
    """What has a date of retirement, VM sizes left out."""
    return tuple(
        Retiring(**{**row, "date": date.fromisoformat(row["date"])})  # type: ignore[arg-type]
        for row in catalog.rows("features.csv")
    )


def retired_versions() -> tuple[Retiring, ...]:
    """The api-versions that are taken no more; the pattern is for `TYPE@VERSION`."""
    return tuple(row for row in retiring_features() if row.kind == "api_version")


# What a plan rests on beside prices, by what is in it: tables, and their names for people.
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
    """The tables that a plan rests on beside prices; topics are keys of `_USED_FOR`."""
    return [_table(text, name) for topic in topics for name, text in _USED_FOR[topic].items()]


def _table(name: str, table: str) -> Table:
    """A table by its file, or by its row in the table of facts that stand in code."""
    if table.endswith(".csv"):
        with (Path(__file__).parent / table).open(encoding="utf-8") as lines:
            facts = header(lines.read(_HEAD))
    else:
        facts = next(row for row in catalog.rows("in_code.csv") if row["name"] == table)
    return Table(name, date.fromisoformat(facts["as_of"]), facts["source"])


_HEAD = 2000  # characters: comments come first


@cache
def every_table() -> tuple[Table, ...]:
    """All tables of dated facts, the oldest first."""
    folder = Path(__file__).parent
    headers = {file.name: header(file.read_text(encoding="utf-8")) for file in folder.glob("*.csv")}
    headers |= {row["name"]: row for row in catalog.rows("in_code.csv")}
    del headers["in_code.csv"]
    dated_tables = (
        Table(name, date.fromisoformat(facts["as_of"]), facts["source"])
        for name, facts in headers.items()
    )
    return tuple(sorted(dated_tables, key=lambda table: (table.as_of, table.name)))
