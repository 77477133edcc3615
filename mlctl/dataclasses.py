"""`dataclass`, as the standard library's, at a third of what each class costs at import.

The standard one compiles the source of six methods for a class. This one leaves it `__init__`, and
has functions for the others. That nothing is assigned to a field of a frozen class is left to the
type checker, so that instances are made faster too (docs/decisions/0075-dataclasses.md).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import asdict, field, fields, replace
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["asdict", "dataclass", "field", "fields", "replace"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(plain=None, /, *, frozen=False, eq=True, **options):
        """A decorator with the parameters of the standard one but `repr`, `order` and `hash`."""
        if plain is None:
            return lambda plain: dataclass(plain, frozen=frozen, eq=eq, **options)
        defined = {name for name, value in vars(plain).items() if value is not None}
        plain.__doc__ = plain.__doc__ or plain.__name__  # else its signature would be written
        made = dataclasses.dataclass(plain, eq=False, repr=False, **options)
        slots = made.__dataclass_fields__.values()
        methods = {"__repr__": _shown_by([slot.name for slot in slots if slot.repr])}
        if eq:
            values = _values(*[slot.name for slot in slots if slot.compare])
            methods |= {"__eq__": _equal_by(values), "__hash__": _hashed_by(values, frozen)}
        for name in methods.keys() - defined:
            setattr(made, name, methods[name])
        return made


def _values(*names: str) -> Callable[[object], Any]:
    """What reads these attributes of an instance, to compare it by."""
    return attrgetter(*names) if names else lambda _: ()


def _equal_by(values: Callable[[object], Any]) -> Callable[[object, object], Any]:
    def equal(instance: object, other: object) -> Any:
        if other.__class__ is instance.__class__:
            return values(instance) == values(other)
        return NotImplemented

    return equal


def _hashed_by(values: Callable[[object], Any], frozen: bool) -> Callable[[object], int] | None:  # noqa: FBT001
    return (lambda instance: hash(values(instance))) if frozen else None


def _shown_by(names: Iterable[str]) -> Callable[[object], str]:
    names = tuple(names)

    @recursive_repr()
    def shown(instance: object) -> str:
        values = ", ".join(f"{name}={getattr(instance, name)!r}" for name in names)
        return f"{instance.__class__.__qualname__}({values})"

    return shown
