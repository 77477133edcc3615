"""The fields of resources as forecasts read them, and the error that names their places."""

from __future__ import annotations

import re
from math import isfinite

from mlctl import catalog
from mlctl.diagnostics import Label
from mlctl.kinds.field import Field
from mlctl.kinds.resource import Resource
from mlctl.pointer import Data

_LIVE = re.compile("<([^<>]+/[^<>]+)>")  # what a document is called that was read in the workspace


class ForecastError(Exception):
    """Something cannot be forecast; the text is one sentence, with the field's place if it has one.

    The place is `FILE:LINE:COLUMN`, or the address of a resource that no file declares.
    """

    def __init__(self, message: str, label: Label | None = None) -> None:
        super().__init__(("" if label is None else f"{_place(label)}: ") + message)


def _place(label: Label) -> str:
    span = label.span
    live = _LIVE.fullmatch(span.source.name)
    if live is not None:
        return f"{live[1]} in the workspace"
    return f"{span.source.name}:{span.line + 1}:{span.column + 1}"


def file_of(resource: Resource) -> str | None:
    """The file that declares a resource; None where it was read in the workspace."""
    name = resource.document.source.name
    return None if _LIVE.fullmatch(name) else name


def field_of(resource: Resource, name: str) -> Field | None:
    """The field of a name, wherever in its document the form has it."""
    return next((field for field in resource.form.fields if field.at[-1] == name), None)


def written(resource: Resource, field: Field) -> bool:
    """Whether the document has the field, by whatever name."""
    return field.at in resource.values


def value_of(resource: Resource, name: str) -> Data:
    """The value of a field, wherever in its document the form has it: written, else the default."""
    field = field_of(resource, name)
    return None if field is None else resource.effective(*map(str, field.at))


def number_of(resource: Resource, name: str, default: int) -> int:
    """The value of a field that holds a whole number."""
    value = value_of(resource, name)
    return int(value) if isinstance(value, int | float) else default


def cores_of(size: str) -> int:
    """The cores of a VM size; 1 where they are not known."""
    vm_size = catalog.size_of(size)
    return vm_size.vcpus if vm_size is not None else 1


def price_of(size: str, price_flag: float | None, label: Label) -> float:
    """The price of a dedicated node-hour in USD: the given one, else the catalog's.

    Raises:
        ForecastError: there is none, with the place of `label`.
    """
    vm_size = catalog.find_size(size)
    price = price_flag if price_flag is not None or vm_size is None else vm_size.usd_per_hour
    if price is None:
        raise ForecastError(
            f"the price of `{size}` is not known: say --price with USD for an hour of a dedicated"
            " node",
            label,
        )
    if not isfinite(price):
        raise ForecastError(f"the price of an hour must be a number, not {price:g}")
    return price
