"""Price lists: the one that mlctl brings along, and what is none."""

from __future__ import annotations

import csv
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl import catalog
from mlctl.catalog import prices
from mlctl.catalog.prices import Price, PriceListError, dump, own_prices, parse

HEAD = "# source: mine\n# as_of: 2026-11-01\nsize,region,dedicated,spot\n"
FILE = Path(prices.__file__).with_name("prices.csv")
REGIONS = "centralus eastus eastus2 northcentralus southcentralus westcentralus westus westus2"


def test_the_list_equals_its_file_row_by_row() -> None:
    rows = [line for line in FILE.read_text().splitlines() if not line.startswith("#")]
    for row in csv.DictReader(rows):
        found = own_prices().price(row["size"], row["region"])
        spot = float(row["spot"]) if row["spot"] else None
        assert found == Price(float(row["dedicated"]), spot)


@pytest.mark.parametrize(
    ("size", "region", "dedicated", "spot"),
    [  # as they stand in the source
        ("Standard_A1_v2", "westcentralus", 0.04, 0.0052),
        ("Standard_B2s", "westus", 0.0496, None),
        ("Standard_DS3_v2", "eastus", 0.293, 0.03223),
        ("Standard_D13_v2", "westus3", 0.598, 0.066019),
        ("Standard_E8s_v3", "eastus2", 0.532, 0.06916),
        ("Standard_FX4mds", "eastus", 0.372, 0.041069),
        ("Standard_HB120rs_v2", "northcentralus", 4.32, 0.4752),
        ("Standard_NC24rs_v3", "southcentralus", 14.8104, 1.710601),
        ("Standard_NC40ads_H100_v5", "southcentralus", 8.38, 8.38),
        ("Standard_ND96isr_H100_v5", "westus", 127.816, 127.816),
        ("Standard_NV36ads_A10_v5", "westus", 4.16, 1.04),
    ],
)
def test_rows_of_every_series_are_those_of_the_source(
    size: str, region: str, dedicated: float, spot: float | None
) -> None:
    assert own_prices().price(size, region) == Price(dedicated, spot)


def test_every_size_of_the_catalogue_has_a_price_somewhere_and_no_other_size_has() -> None:
    assert {size for size, _ in own_prices().prices} == {*catalog.sizes()}
    assert {*REGIONS.split(), "westus3"} == {region for _, region in own_prices().prices}


def test_the_price_of_spot_never_exceeds_the_dedicated_one() -> None:
    for price in own_prices().prices.values():
        assert price.dedicated is not None
        assert price.spot is None or 0 < price.spot <= price.dedicated


def test_a_pair_is_found_by_any_of_its_spellings() -> None:
    assert own_prices().price("STANDARD_ds3_V2", "West US 3") == Price(0.229, 0.025282)


def test_what_no_list_has_is_not_known() -> None:
    for size, region in (("Standard_DS3_v2", "westeurope"), ("Standard_Q1_v9", "eastus")):
        assert own_prices().price(size, region) == prices.UNKNOWN


def test_the_list_has_a_day_and_a_source() -> None:
    assert own_prices().as_of == date(2024, 8, 26)
    assert "SkyPilot" in own_prices().source


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("size,region,dedicated,spot\n", "comments with `source:` and `as_of:`"),
        (HEAD.replace("spot", "tier"), "then size,region,dedicated,spot"),
        (HEAD.replace("2026-11-01", "soon"), "`soon` is not a date"),
        (f"{HEAD}a,eastus,1,\nA,East US,2,\n", "two prices of A in East US"),
        (f"{HEAD}a,eastus,1,2\n", "costs more as Spot than dedicated"),
        (f"{HEAD}a,eastus,cheap,\n", "`cheap` is not a price"),
        (f"{HEAD}a,eastus,-1,\n", "`-1` is not a price"),
        (f"{HEAD}a,eastus,inf,\n", "`inf` is not a price"),
    ],
)
def test_what_is_no_price_list_is_said(text: str, why: str) -> None:
    with pytest.raises(PriceListError, match=why):
        parse(text)


amounts = st.floats(0, 1000).map(lambda amount: round(amount, 6))
pairs = st.tuples(amounts, amounts).map(lambda two: Price(max(two), min(two)))
all_prices = pairs | amounts.map(Price) | st.just(prices.UNKNOWN)


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), all_prices))
def test_a_list_that_is_written_is_read_again(rows: dict[str, Price]) -> None:
    written = {(size, "eastus"): price for size, price in rows.items()}
    text = dump("mine", date(2026, 11, 1), ((*pair, price) for pair, price in written.items()))
    assert parse(text).prices == written
