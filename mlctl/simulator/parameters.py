"""What the settings of the event engine mean, and where their defaults come from."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

from mlctl.simulator.engine.model import Parameter

_TABLE = Path(__file__).with_suffix(".csv")


def assumptions(settings: object, table: Path = _TABLE) -> Iterator[Parameter]:
    """Every assumption of a table: the current settings, then the defaults of fields left out."""
    with table.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            name, default = row["name"], row["default"]
            value = json.loads(default) if default else getattr(settings, name)
            yield Parameter(name, value, row["source"], row["why"])
