"""`dataclass` like the standard library's, at a third of the import time per class.

The standard one compiles the source of six methods for a class. This one compiles `__init__` alone,
when it is first looked up, and has functions for the others. That nothing is assigned to a
field of a frozen class is left to the type checker, so that instances are made faster too
(docs/decisions/0075-dataclasses.md).
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable
from dataclasses import MISSING, asdict, field, fields, replace
from operator import attrgetter
from reprlib import recursive_repr
from types import FunctionType
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
        made = dataclasses.dataclass(plain, init=False, eq=False, repr=False, **options)
        slots = made.__dataclass_fields__.values()
        methods = {
            "__init__": _CompiledOnAccess(made),
            "__repr__": _shown_by([slot.name for slot in slots if slot.repr]),
        }
        if eq:
            values = _values(*[slot.name for slot in slots if slot.compare])
            methods |= {"__eq__": _equal_by(values), "__hash__": _hashed_by(values, frozen)}
        for name in methods.keys() - defined:
            setattr(made, name, methods[name])
        return made


class _Factory:
    """The default of a field with a factory, as signatures show it."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


class _CompiledOnAccess:
    """An `__init__` that is compiled when it is first looked up, and replaced by the result."""

    def __init__(self, made: Any) -> None:
        self._made = made

    def __get__(self, instance: object, owner: type) -> Callable[..., None]:
        self._made.__init__ = written = _compiled(self._made)
        method: Callable[..., None] = written.__get__(instance, owner)
        return method


def _compiled(made: Any) -> FunctionType:
    """Compile the `__init__` of the standard library: an assignment for each field."""
    names: dict[str, Any] = {"FACTORY": _FACTORY}
    parameters, lines, annotations = ["self"], [], {}
    for slot in sorted(fields(made), key=attrgetter("kw_only")):
        name = value = slot.name
        if slot.default_factory is not MISSING:
            names |= {f"default_{name}": _FACTORY, f"make_{name}": slot.default_factory}
            value = f"make_{name}() if {name} is FACTORY else {name}"
        elif slot.default is not MISSING:
            names[f"default_{name}"] = slot.default
        if slot.init:
            parameters += ["*"] if slot.kw_only and "*" not in parameters else []
            parameters.append(f"{name}=default_{name}" if f"default_{name}" in names else name)
            lines.append(f"self.{name} = {value}")
            annotations[name] = slot.type
    lines.append("self.__post_init__()" if hasattr(made, "__post_init__") else "pass")
    inner = f"def __init__({', '.join(parameters)}):\n  " + "\n  ".join(lines)
    text = f"def create({', '.join(names)}):\n {inner}\n return __init__"
    created: dict[str, Any] = {}
    module = sys.modules[made.__module__].__dict__
    exec(text, module, created)  # noqa: S102 - as the standard library does
    written: FunctionType = created["create"](**names)
    written.__qualname__ = f"{made.__qualname__}.__init__"
    written.__annotations__ = annotations
    return written


def _values(*names: str) -> Callable[[object], Any]:
    """Return a function that reads these attributes of an instance, to compare it by."""
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
