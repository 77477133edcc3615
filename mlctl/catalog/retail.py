"""Convert between meters of the Azure Retail Prices API and price lists.

Source: learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices. What the
page leaves open was read from answers of August 2026: a size has one meter each for Linux and
Windows, and per tier, distinguished by name ("D2s v3 Spot", "D2s v3 Low Priority"); Cloud Services
and other products have meters of the same size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any

from mlctl import catalog
from mlctl.catalog.prices import MOST_PRICE, Price, PriceList

URL = "https://prices.azure.com/api/retail/prices"
URL_VARIABLE = "MLCTL_PRICES_URL"
VERSION = "2023-01-01-preview"
PAGE = 1000  # meters per page, at most
SOURCE = "Azure Retail Prices API"

_SPOT, _LOW_PRIORITY = " Spot", " Low Priority"
_COMMON = {
    "serviceName": "Virtual Machines",
    "type": "Consumption",
    "unitOfMeasure": "1 Hour",
    "currencyCode": "USD",
}
_OTHER_PRODUCTS = ("Windows", "Cloud Services", "CloudServices")


class MeterError(ValueError):
    """An answer of the API does not have the documented form; the message says where."""


def filter_of(sizes: Iterable[str], regions: Iterable[str]) -> str:
    """Build the OData filter for sizes and regions (none: all).

    The service is case-sensitive: a known size is spelt as in the catalog.
    """
    sizes = [size.name if (size := catalog.find_size(name)) else name for name in sizes]
    clauses = ["serviceName eq 'Virtual Machines'", "priceType eq 'Consumption'"]
    for name, values in (("armRegionName", regions), ("armSkuName", sizes)):
        terms = [f"{name} eq '{value}'" for value in values]
        if terms:
            clauses.append(f"({' or '.join(terms)})")
    return " and ".join(clauses)


def read(meters: Iterable[Mapping[str, Any]], today: date) -> dict[tuple[str, str], Price]:
    """Return the prices of meters, by size and region as the service spells them.

    Of several meters the one that came into effect last counts; if such meters differ, or Spot
    would cost more than dedicated, the price is unknown.

    Raises:
        MeterError: a meter lacks a field, or has one of a wrong type.
    """
    amounts: dict[tuple[str, str, bool], dict[str, set[float]]] = {}
    for meter in meters:
        product, name = _text(meter, "productName"), _text(meter, "meterName")
        begins, amount = _text(meter, "effectiveStartDate")[:10], _amount(meter)
        if any(meter.get(key) != value for key, value in _COMMON.items()):
            continue
        if any(word in product for word in _OTHER_PRODUCTS) or name.endswith(_LOW_PRIORITY):
            continue
        if begins <= today.isoformat() and amount > 0:
            key = _text(meter, "armSkuName"), _text(meter, "armRegionName"), name.endswith(_SPOT)
            amounts.setdefault(key, {}).setdefault(begins, set()).add(amount)
    prices: dict[tuple[str, str], Price] = {}
    for size, region, _ in amounts:
        dedicated, spot = (_last(amounts.get((size, region, tier))) for tier in (False, True))
        is_sound = dedicated is None or spot is None or spot <= dedicated
        prices[size, region] = Price(dedicated, spot if is_sound else None)
    return prices


def meters_of(price_list: PriceList) -> Iterator[dict[str, Any]]:
    """Yield the Linux meters that a list corresponds to, by size and region."""
    for (size, region), price in sorted(price_list.every_price.items()):
        vm_size = catalog.find_size(size)
        name = vm_size.name if vm_size else size
        meter = name.removeprefix("Standard_").replace("_", " ")
        for amount, suffix in ((price.dedicated, ""), (price.spot, _SPOT)):
            if amount is not None:
                yield _meter(name, region, meter + suffix, amount, price_list.of(size, region))


def _meter(size: str, region: str, name: str, amount: float, of: PriceList) -> dict[str, Any]:
    return {
        "currencyCode": "USD",
        "tierMinimumUnits": 0.0,
        "retailPrice": amount,
        "unitPrice": amount,
        "armRegionName": region,
        "location": region,
        "effectiveStartDate": f"{of.as_of.isoformat()}T00:00:00Z",
        "meterName": name,
        "productName": f"Virtual Machines {size.removeprefix('Standard_')} Series",
        "skuName": name,
        "serviceName": _COMMON["serviceName"],
        "serviceFamily": "Compute",
        "unitOfMeasure": _COMMON["unitOfMeasure"],
        "type": _COMMON["type"],
        "isPrimaryMeterRegion": True,
        "armSkuName": size,
    }


def _text(meter: Mapping[str, Any], name: str) -> str:
    value = meter.get(name)
    if not isinstance(value, str):
        raise MeterError(f"the `{name}` of a meter is {_quoted(value)}, not text")
    return value


def _amount(meter: Mapping[str, Any]) -> float:
    value = meter.get("retailPrice")
    if not isinstance(value, int | float) or not 0 <= value <= MOST_PRICE or value is True:
        raise MeterError(f"the `retailPrice` of a meter is {_quoted(value)}, not a price")
    return float(value)


def _quoted(value: object) -> str:
    return "missing" if value is None else f"{value!r:.40}"


def _last(amounts: Mapping[str, set[float]] | None) -> float | None:
    """Return the amount that came into effect last; None if there is none, or several."""
    last = amounts[max(amounts)] if amounts else ()
    return next(iter(last)) if len(last) == 1 else None
