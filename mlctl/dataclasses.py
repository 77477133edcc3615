"""`dataclass` like the standard library's, at a small part of its import time.

The standard one imports `inspect`, and compiles the source of six methods for a class. This one
compiles `__init__` alone, when it is first looked up, and has functions for the others. That
nothing is assigned to a field of a frozen class is left to the type checker, so that instances are
made faster too (docs/decisions/0075-dataclasses.md). The standard library's `fields`, `replace` and
`asdict` take these classes for dataclasses.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any

__all__ = ["MISSING", "Field", "asdict", "dataclass", "field", "fields", "is_dataclass", "replace"]

if TYPE_CHECKING:
    from dataclasses import MISSING, Field, asdict, dataclass, field, fields, is_dataclass, replace
else:
    MISSING = type("_Missing", (), {"__repr__": lambda _: "MISSING"})()

    class Field:
        """What is known of a field; `default` and `default_factory` are MISSING if it has none."""

        name = type = None
        default = default_factory = MISSING
        init = repr = compare = True
        hash = None
        kw_only = False
        metadata = MappingProxyType({})

        def __init__(self, **facts):
            self.__dict__ |= facts

        @property
        def _field_type(self):
            """The mark of the standard library's fields, which its functions look for."""
            from dataclasses import _FIELD  # noqa: PLC0415 - takes as long as all of this module

            return _FIELD

    field = Field

    def dataclass(plain=None, /, *, frozen=False, eq=True, slots=False, kw_only=False):
        """A decorator with the parameters of the standard one but `repr`, `order` and `hash`."""
        if plain is None:
            return lambda plain: dataclass(
                plain, frozen=frozen, eq=eq, slots=slots, kw_only=kw_only
            )
        defined = {name for name, value in vars(plain).items() if value is not None}
        plain.__doc__ = plain.__doc__ or plain.__name__
        plain.__dataclass_fields__ = by_name = _fields_of(plain, kw_only)
        every = by_name.values()
        plain.__match_args__ = tuple(slot.name for slot in every if slot.init and not slot.kw_only)
        made = _with_slots(plain, by_name) if slots else plain
        methods = {
            "__init__": _CompiledOnAccess(made),
            "__repr__": _shown_by([slot.name for slot in every if slot.repr]),
        }
        if eq:
            values = _values(*[slot.name for slot in every if slot.compare])
            methods |= {"__eq__": _equal_by(values), "__hash__": _hashed_by(values, frozen)}
        for name in methods.keys() - defined:
            setattr(made, name, methods[name])
        return made

    def fields(of):
        """The fields of a class or instance, in order."""
        return tuple(of.__dataclass_fields__.values())

    def is_dataclass(value):
        """Whether a value is a dataclass or an instance of one."""
        return hasattr(value, "__dataclass_fields__")

    def replace(instance, /, **changes):
        """An instance with other values in some fields."""
        slots = instance.__dataclass_fields__.values()
        values = {slot.name: getattr(instance, slot.name) for slot in slots if slot.init}
        return instance.__class__(**values | changes)

    def asdict(instance):
        """The values of the fields by name, of dataclasses inside, too."""
        from dataclasses import asdict  # noqa: PLC0415 - few need it

        return asdict(instance)


def _fields_of(plain: Any, kw_only: bool) -> dict[str, Any]:  # noqa: FBT001
    """Return the fields of a class by name, those of its bases first."""
    by_name: dict[str, Any] = {}
    for base in plain.__mro__[:0:-1]:
        by_name |= vars(base).get("__dataclass_fields__", {})
    for name, hint in plain.__annotations__.items():
        default = vars(plain).get(name, MISSING)
        slot = default if isinstance(default, Field) else field(default=default)
        if slot is default and slot.default is MISSING:
            delattr(plain, name)
        elif slot is default:
            setattr(plain, name, slot.default)
        slot.name, slot.type = name, hint
        slot.kw_only = slot.kw_only or kw_only
        by_name[name] = slot
    return by_name


def _with_slots(plain: Any, names: Iterable[str]) -> Any:
    """Return the class again, with a slot for each field."""
    inherited = {name for base in plain.__mro__[1:] for name in vars(base).get("__slots__", ())}
    left_out = {*names, "__dict__", "__weakref__"}
    body = {name: value for name, value in vars(plain).items() if name not in left_out}
    body["__slots__"] = tuple(name for name in names if name not in inherited)
    body["__qualname__"] = plain.__qualname__
    return type(plain)(plain.__name__, plain.__bases__, body)


class _Factory:
    """The default of a field with a factory, as signatures show it."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()
_FEW = 8  # instances


class _CompiledOnAccess:
    """An `__init__` that is compiled once it is asked for, or has made a few instances.

    Of most classes a command makes fewer: to set their fields one by one takes less time.
    """

    def __init__(self, made: Any) -> None:
        self._made = made
        self._remaining = _FEW

    def __get__(self, instance: Any, owner: type) -> Callable[..., None]:
        if self._remaining and isinstance(instance, self._made):  # Python 3.13 asks with the class
            self._remaining -= 1
            return partial(self._fill, instance)
        self._made.__init__ = written = _compiled(self._made)
        method: Callable[..., None] = written.__get__(instance, owner)
        return method

    def _fill(self, instance: Any, /, *args: Any, **values: Any) -> None:
        slots = [slot for slot in fields(self._made) if slot.init]
        required = {slot.name for slot in slots if slot.default is slot.default_factory}
        given = dict(zip(self._made.__match_args__, args, strict=False)) | values
        known = required <= given.keys() <= {slot.name for slot in slots}
        if not known or len(given) != len(args) + len(values):
            _compiled(self._made)(instance, *args, **values)  # raises what Python does
        for slot in slots:
            if slot.name in given or slot.default_factory is MISSING:
                setattr(instance, slot.name, given.get(slot.name, slot.default))
            else:
                setattr(instance, slot.name, slot.default_factory())
        if hasattr(instance, "__post_init__"):
            instance.__post_init__()


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
