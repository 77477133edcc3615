"""Stand-ins for missing packages: every call is answered by the hash of its input.

They do no arithmetic, so a script's results are meaningless; but the same input gives the same
answer in each process and at each attempt, which is all that a rehearsal compares. If the input has
elements, as a list of files or the rows of a frame, the answer has as many, each derived from its
element.
"""

from __future__ import annotations

import hashlib
import importlib.abc
import importlib.machinery
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType, ModuleType
    from typing import Any

_SIDE = 28  # of an image, if an array is requested of a value without a length
_ASKS = ("is_", "has_")  # names that ask for a device or a feature: there is none
_ERRORS = ("Error", "Exception", "Warning")


def digest(value: Any) -> str:
    """Return a hash of a value; of an existing file by its content, of another path by its name."""
    return hashlib.sha256(_bytes(value)).hexdigest()


def _bytes(value: Any) -> bytes:
    if isinstance(value, StandIn):
        return value.key.encode()
    if isinstance(value, (str, os.PathLike)):
        return _path(os.fspath(value))
    if isinstance(value, (list, tuple)):
        return b"[" + b",".join(digest(element).encode() for element in value) + b"]"
    if isinstance(value, dict):
        return _bytes([(key, value[key]) for key in value])
    return _content(value)


def _content(value: Any) -> bytes:
    """Return the bytes of an array, a data frame or an open file; of unknown values their type."""
    if hasattr(value, "tobytes"):
        return bytes(value.tobytes())
    if hasattr(value, "to_csv"):
        return str(value.to_csv()).encode()
    if hasattr(value, "read") and isinstance(getattr(value, "name", None), str):
        return _path(value.name)
    plain = isinstance(value, (int, float, complex, bytes, type(None)))
    return (repr(value) if plain else type(value).__name__).encode()


def _path(text: Any) -> bytes:
    name = os.fsdecode(text)
    if os.sep not in name:
        return name.encode()
    try:
        with open(name, "rb") as file:
            return file.read()
    except OSError:
        return os.path.basename(name).encode()


def _items(values: Iterable[Any]) -> tuple[str, ...] | None:
    """Return the hashes of the elements of the first value that has any, as models answer each."""
    for value in values:
        if isinstance(value, dict):
            items = _items(value.values())
        elif isinstance(value, StandIn):
            items = value.items
        elif hasattr(value, "itertuples"):  # a data frame
            items = tuple(digest(row) for row in value.itertuples(index=False))
        elif hasattr(value, "__len__") and not isinstance(value, (str, bytes)):
            items = tuple(digest(part) for part in value)
        else:
            items = None
        if items is not None:
            return items
    return None


class StandIn:
    """A value of which only the hash is known, and those of its elements, if any."""

    def __init__(self, key: str, items: tuple[str, ...] | None = None, wraps: Any = None) -> None:
        self.key, self.items, self.wraps = key, items, wraps

    def _next(self, *parts: Any) -> StandIn:
        """Derive the next value, element by element."""
        items = self.items
        if items is not None:
            items = tuple(digest([item, *parts]) for item in items)
        return StandIn(digest([self.key, *parts]), items)

    @property
    def number(self) -> float:
        """Return a number from 0 to 1."""
        return int(digest(self.key)[:13], 16) / 16**13

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name.startswith(_ASKS):
            return lambda *_, **__: False
        if name.endswith(_ERRORS):
            return type(name, (Exception,), {})
        if name == "item":
            return lambda: int(self.number * 10)
        if name == "tolist":
            return lambda: list(self)
        return (len(self), 4) if name == "shape" else self._next(name)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if self.wraps is not None:
            return self.wraps(*arguments, **keywords)
        items = _items([*arguments, *keywords.values()])
        key = digest([self.key, arguments, keywords])
        if items is not None:
            items = tuple(digest([self.key, item]) for item in items)
        result = StandIn(key, self._next("()").items if items is None else items)
        if len(arguments) == 1 and not keywords and callable(arguments[0]):
            result.wraps = arguments[0]  # as a decorator
        return result

    def __getitem__(self, key: Any) -> StandIn:
        if isinstance(key, int) and self.items is not None:
            return StandIn(self.items[key % len(self.items)])
        return self._next(key if isinstance(key, (int, str)) else repr(key))

    def __setitem__(self, _key: Any, _value: Any) -> None:
        return

    def __contains__(self, _key: Any) -> bool:
        return True

    def __iter__(self) -> Iterator[StandIn]:
        return (self[at] for at in range(len(self)))

    def __len__(self) -> int:
        return 1 if self.items is None else len(self.items)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        import numpy

        if self.items is not None:
            return numpy.array([item.number for item in self], dtype)
        seed = int(self.key[:8], 16)
        return numpy.random.RandomState(seed).random_sample((_SIDE, _SIDE)).astype(dtype or float)

    def __fspath__(self) -> str:
        return f"stand-in-{self}"

    def __enter__(self) -> StandIn:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __mro_entries__(self, _bases: Any) -> tuple[type, ...]:
        return (Base,)

    def __float__(self) -> float:
        return self.number

    def __int__(self) -> int:
        return int(self.number * 10)

    def __str__(self) -> str:
        return self.key[:8]

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(self.number if spec[-1:] in "eEfFgGn%" and spec else str(self), spec)

    def __hash__(self) -> int:
        return int(self.key[:15], 16)

    def __bool__(self) -> bool:
        return True


def _operation(name: str) -> Any:
    def operate(self: StandIn, *operands: Any) -> StandIn:
        return self._next(name, *operands)

    return operate


def _comparison(name: str) -> Any:
    def compare(self: StandIn, operand: Any) -> Any:
        if self.items is not None:
            return self._next(name, operand)
        return int(digest([self.key, name, operand])[0], 16) % 2 == 0

    return compare


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    setattr(StandIn, f"__{_name}__", _operation(_name))
    setattr(StandIn, f"__r{_name}__", _operation(f"r{_name}"))
for _name in ("neg", "abs", "invert", "and", "or", "round"):
    setattr(StandIn, f"__{_name}__", _operation(_name))
for _name in ("lt", "le", "gt", "ge"):
    setattr(StandIn, f"__{_name}__", _comparison(_name))


class Base:
    """A base class for classes of the script whose real base is a stand-in."""

    def __init__(self, *_arguments: Any, **_keywords: Any) -> None:
        return

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn(digest([type(self).__name__, name]))

    def __call__(self, *arguments: Any, **keywords: Any) -> StandIn:
        key = digest([type(self).__name__, arguments, keywords])
        return StandIn(key, _items(arguments))


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Asked last for a module: it creates those that the script's own lines import.

    An installed package may ask for a missing one: it knows what to do then.
    """

    def __init__(self, code: str) -> None:
        self.code = code
        self.packages: set[str] = set()

    def find_spec(
        self, name: str, _path: Any = None, _target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        package = name.partition(".")[0]
        if package in sys.modules and package not in self.packages:
            return None  # of an installed package without such a part
        if not self._importer().startswith(self.code):
            return None
        self.packages.add(package)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    @staticmethod
    def _importer() -> str:
        """Return the file whose line imports."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
            frame = frame.f_back
        return frame.f_code.co_filename if frame is not None else ""

    def create_module(self, _spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        whole = StandIn(digest(module.__name__))
        module.__getattr__ = whole.__getattr__  # type: ignore[method-assign]
