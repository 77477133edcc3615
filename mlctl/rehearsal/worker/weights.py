"""Compare the numbers in two files: `weights.py ONE OTHER` says `true` or `false`, as JSON.

Files of NumPy, PyTorch, safetensors, Keras (HDF5), pickle and joblib, as far as this Python reads
them. They are the user's own: what they bring with them is run.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_RELATIVE, _ABSOLUTE = 1e-5, 1e-7
_FORMATS = {"F64": "d", "F32": "f", "F16": "e", "I64": "q", "I32": "i", "I16": "h", "I8": "b"}


def load(path: str) -> Any:  # noqa: PLR0911 - a kind of file each
    """What is in a file; its bytes where its kind is not known."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix in (".npy", ".npz"):
        found = import_module("numpy").load(path, allow_pickle=True)
        return dict(found) if suffix == ".npz" else found
    if suffix in (".pt", ".pth", ".ckpt", ".bin"):
        return import_module("torch").load(path, map_location="cpu", weights_only=False)
    if suffix == ".safetensors":
        return dict(tensors(path))
    if suffix in (".h5", ".hdf5"):
        return of_hdf5(path)
    if suffix in (".pkl", ".pickle"):
        import pickle

        with open(path, "rb") as file:
            return pickle.load(file)  # noqa: S301
    if suffix == ".joblib":
        return import_module("joblib").load(path)
    with open(path, "rb") as file:
        return file.read()


def tensors(path: str) -> Iterator[tuple[str, Any]]:
    """The tensors of a safetensors file; bytes of a type that has no format here."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        begin = file.tell()
        for name, about in sorted(header.items()):
            if name == "__metadata__":
                continue
            start, end = about["data_offsets"]
            file.seek(begin + start)
            data = file.read(end - start)
            code = _FORMATS.get(about["dtype"])
            count = len(data) // struct.calcsize(code) if code else 0
            yield name, list(struct.unpack(f"<{count}{code}", data)) if code else data


def of_hdf5(path: str) -> dict[str, Any]:
    """The data sets of an HDF5 file, by name."""
    found = {}
    with import_module("h5py").File(path, "r") as file:
        file.visititems(
            lambda name, one: found.update({name: one[()]} if hasattr(one, "shape") else {})
        )
    return found


def alike(  # noqa: PLR0911 - a kind of value each
    one: Any, other: Any, seen: frozenset[int] = frozenset()
) -> bool:
    """Whether two values are the same, numbers by a tolerance; `seen` are those around them."""
    if id(one) in seen:
        return True
    seen |= {id(one)}
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        close = abs(one - other) <= _ABSOLUTE + _RELATIVE * max(abs(one), abs(other))
        return close or one == other or (one != one and other != other)  # noqa: PLR0124 - NaN
    if hasattr(one, "detach"):
        one, other = one.detach().cpu().numpy(), other.detach().cpu().numpy()
    if hasattr(one, "dtype") and hasattr(one, "shape"):
        return arrays(one, other, seen)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key], seen) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(
            alike(mine, theirs, seen)
            for mine, theirs in zip(one, other)  # noqa: B905 - not in Python 3.8
        )
    if isinstance(one, (str, bytes, int, type(None))):
        return bool(one == other)
    return alike(state(one), state(other), seen)


def state(one: Any) -> Any:
    """What an object would be saved by; its name where it has no state."""
    if hasattr(one, "__getstate__"):
        return one.__getstate__()
    return getattr(one, "__dict__", None) or getattr(one, "__qualname__", None)


def arrays(one: Any, other: Any, seen: frozenset[int]) -> bool:
    """Whether two arrays are: of numbers by the tolerance, of others one by one."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.dtype.kind in "fc":
        close = import_module("numpy").allclose
        return bool(close(one, other, _RELATIVE, _ABSOLUTE, equal_nan=True))
    if one.dtype.kind in "OV":
        return alike(one.tolist(), other.tolist(), seen)
    return bool((one == other).all())


def main() -> None:
    told = os.dup(1)
    os.dup2(2, 1)  # what libraries print is no answer
    answer = alike(load(sys.argv[1]), load(sys.argv[2]))
    os.write(told, json.dumps(answer).encode())


if __name__ == "__main__":
    main()
