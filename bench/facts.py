"""`make facts`: the tables of dated facts, checked, and refreshed as far as a network allows it.

    python -m bench.facts [--offline]

The form of every table is checked: its day, its source, its rows. Then prices are asked of the
Azure Retail Prices API (its address may be in MLCTL_PRICES_URL), and Azure/EOL's list of
retirements is held against the tables. What changed is printed as a diff; what could not be reached
is named. The exit code is 1 where a table has a wrong form.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mlctl import backends, catalog
from mlctl.catalog import prices, retail
from mlctl.catalog.tables import every_table, retiring_features
from mlctl.service_errors import ServiceError

FOLDER = Path(catalog.__file__).parent
EOL = "https://raw.githubusercontent.com/Azure/EOL/main/service_list.json"
_SERVICES = re.compile(r"machine learning|virtual machines", re.IGNORECASE)


def main(arguments: list[str]) -> int:
    """Check, and unless it is `--offline`, refresh."""
    wrong = list(errors())
    for text in wrong:
        print(f"wrong: {text}")
    for table in every_table():
        print(f"{table.as_of} {table.name}")
    if "--offline" not in arguments:
        for refresh in (refresh_prices, unlisted_retirements):
            try:
                print(refresh())
            except ServiceError as error:
                print(f"not reached: {error}")
    return 1 if wrong else 0


def errors() -> Iterator[str]:
    """What is wrong with the form of a table."""
    try:
        every_table()
        prices.own_prices()
    except (ValueError, KeyError) as error:
        yield str(error)
    names = {feature.name for feature in retiring_features()}
    if len(names) < len(retiring_features()):
        yield "features.csv names something twice"
    for feature in retiring_features():
        try:
            re.compile(feature.pattern)
        except re.error as error:
            yield f"features.csv, {feature.name}: {error}"
    for row in catalog.rows("retirements.csv"):
        try:
            re.compile(row["pattern"])
            datetime.strptime(row["date"], "%Y-%m-%d").replace(tzinfo=UTC)
        except (re.error, ValueError) as error:
            yield f"retirements.csv, {row['series']}: {error}"


def refresh_prices(file: Path = FOLDER / "prices.csv") -> str:
    """Write the prices of today of every pair that the list has; the diff."""
    old_text, listed = file.read_text(encoding="utf-8"), prices.read(file)
    today = datetime.now(UTC).date()
    sizes = [size.name for size in catalog.sizes().values()]
    regions = sorted({region for _, region in listed.prices})
    url = os.environ.get(retail.URL_VARIABLE) or retail.URL
    answer = backends.fetch_prices(url, sizes, regions, today)
    if not answer:
        return "no price came back: the list stays as it was"
    rows = ((*pair, price) for pair, price in sorted(answer.items()))
    new_text = prices.dump(retail.SOURCE, today, rows)
    file.write_text(new_text, encoding="utf-8")
    lines = difflib.unified_diff(
        old_text.splitlines(), new_text.splitlines(), "before", "after", n=0
    )
    return "\n".join(lines)


def unlisted_retirements() -> str:
    """What Azure/EOL says of machine learning and of VMs on a day that no table has."""
    from mlctl.backends.azure.arm import fetch

    days = {row["date"] for row in catalog.rows("retirements.csv")}
    days |= {feature.date.isoformat() for feature in retiring_features()}
    services: Any = fetch(EOL)
    lines = [
        f"+ {entry.get('RetirementDate')} {entry.get('RetiringFeature')} (Azure/EOL {entry['Id']})"
        for entry in services
        if _SERVICES.search(str(entry.get("ServiceName")))
        and entry.get("RetirementDate") not in days
    ]
    return "\n".join(["retirements on days that no table has:", *lines])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
