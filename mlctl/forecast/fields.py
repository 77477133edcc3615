"""The fields of resources that forecasts read, and errors with their places."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import isfinite

from mlctl import catalog
from mlctl.catalog.prices import MOST_PRICE, PriceList, own_prices
from mlctl.dataclasses import dataclass
from mlctl.diagnostics import Label
from mlctl.forecast.scenario import SpotRate
from mlctl.kinds.field import Field
from mlctl.kinds.resource import Resource
from mlctl.pointer import Data

MOST_NODES = 100_000
DEFAULT_REGION = "eastus"  # for resources without one, if no workspace is read
_MOST_NUMBER = 2**31 - 1
_LIVE = re.compile("<([^<>]+/[^<>]+)>")  # the name of documents read from the workspace


class ForecastError(Exception):
    """Something cannot be forecast; the message is a sentence, after the field's place if any.

    The place is `FILE:LINE:COLUMN`, or the address of a resource that no file declares.
    """

    def __init__(self, message: str, label: Label | None = None) -> None:
        place = ""
        if label is not None:
            span = label.span
            live = _LIVE.fullmatch(span.source.name)
            in_file = f"{span.source.name}:{span.line + 1}:{span.column + 1}: "
            place = f"{live[1]} in the workspace: " if live is not None else in_file
        super().__init__(place + message)


def file_of(resource: Resource) -> str | None:
    """Return the file that declares a resource; None if it was read from the workspace."""
    name = resource.document.source.name
    return None if _LIVE.fullmatch(name) else name


def field_of(resource: Resource, name: str) -> Field | None:
    """Return the field of a name, wherever the form has it."""
    return next((field for field in resource.form.fields if field.at[-1] == name), None)


def value_of(resource: Resource, name: str) -> Data:
    """Return the value of a field, wherever the form has it: written, else the default."""
    field = field_of(resource, name)
    return None if field is None else resource.effective(*map(str, field.at))


def number_of(
    resource: Resource, name: str, default: int, least: int = 0, most: int = _MOST_NUMBER
) -> int:
    """Return the whole number in a field.

    Raises:
        ForecastError: it is out of the bounds of what can be forecast, whatever the rules say.
    """
    field, value = field_of(resource, name), value_of(resource, name)
    if field is None or not isinstance(value, int | float):
        return default
    if not least <= value <= most:
        raise ForecastError(
            f"for a forecast, `{name}` must be between {least} and {most}",
            resource.label(field.at),
        )
    return int(value)


def cores_of(size: str) -> int:
    """Return the cores of a VM size; 1 if unknown."""
    vm_size = catalog.size_of(size)
    return vm_size.vcpus if vm_size is not None else 1


@dataclass(frozen=True, slots=True)
class StatedPrices:
    """The user's prices: of a dedicated node-hour, and the ratio of low priority to it.

    None is looked up in the list. `region` is that of clusters without one. The Spot price may lie
    between two `ends`, or come from the list that `spot` gives for a size and a region.
    """

    price: float | None = None
    ratio: float | None = None
    prices: PriceList | None = None
    region: str = DEFAULT_REGION
    ends: tuple[float, float] | None = None
    spot: Callable[[str, str], PriceList] | None = None

    @property
    def price_list(self) -> PriceList:
        """The list to look prices up in."""
        return self.prices or own_prices()

    def region_of(self, cluster: Resource | None) -> str:
        """Return a cluster's region, or that of serverless nodes."""
        location = None if cluster is None else value_of(cluster, "location")
        return str(location or self.region)

    def origin_for(self, cluster: Resource | None, size: str = "") -> str:
        """Return date and source of the prices of a cluster's nodes, or of a job's own `size`."""
        own_size = size if cluster is None else str(value_of(cluster, "size") or "")
        return self.price_list.of(own_size, self.region_of(cluster)).origin


def prices_of(size: str, region: str, stated: StatedPrices, label: Label) -> tuple[float, SpotRate]:
    """Return the USD per node-hour, dedicated and low priority: as stated, else from the list.

    Of a price between two ends, the list's counts if it lies between them, else the nearer end, or
    the higher one if the list has none. No price is above the dedicated one.

    Raises:
        ForecastError: one is unknown, with the place of `label`.
    """
    listed_price = stated.price_list.price(size, region)
    dedicated = listed_price.dedicated if stated.price is None else stated.price
    if dedicated is None:
        raise ForecastError(
            f"the price of `{size}` is unknown in {region}: give --price with USD for an hour of a"
            " dedicated node",
            label,
        )
    if not isfinite(dedicated):
        raise ForecastError(f"the price of an hour must be a number, not {dedicated:g}")
    if dedicated > MOST_PRICE:
        raise ForecastError(f"the price of an hour must be {MOST_PRICE:g} USD at most")
    if stated.ratio is not None:
        return dedicated, SpotRate(stated.ratio * dedicated)
    known_list = stated.spot(size, region) if stated.spot else stated.price_list
    rate = known_list.price(size, region).spot
    if stated.ends is not None:
        low, high = (min(end, dedicated) for end in stated.ends)
        return dedicated, SpotRate(high if rate is None else min(max(rate, low), high), (low, high))
    if rate is None:
        raise ForecastError(
            f"the Spot price of `{size}` is unknown in {region}: give --spot-price with USD"
            " for an hour, LOW..HIGH, or --low-priority-ratio with what it is of the dedicated"
            " price",
            label,
        )
    rate, earlier = min(rate, dedicated), min(listed_price.spot or rate, dedicated)
    ends = None if stated.spot is None else (min(rate, earlier), max(rate, earlier))
    return dedicated, SpotRate(rate, ends, known_list.of(size, region).as_of.isoformat())
