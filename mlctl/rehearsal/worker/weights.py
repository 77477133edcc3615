"""Compare the numbers in two files: `weights.py ONE OTHER` prints `true` or `false`, as JSON.

It reads NumPy, PyTorch, safetensors, Keras (HDF5), pickle and joblib files, if this Python can.
They are the user's own: code in them is run.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from importlib import import_module
from math import isnan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_RELATIVE, _ABSOLUTE = 1e-5, 1e-7
_FORMATS = {"F64": "d", "F32": "f", "F16": "e", "I64": "q", "I32": "i", "I16": "h", "I8": "b"}


def load(path: str) -> Any:  # noqa: PLR0911 - a kind of file each
    """Load a file; its bytes if its type is unknown."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix in (".npy", ".npz"):
        contents = import_module("numpy").load(path, allow_pickle=True)
        return dict(contents) if suffix == ".npz" else contents
    if suffix in (".pt", ".pth", ".ckpt", ".bin"):
        return import_module("torch").load(path, map_location="cpu", weights_only=False)
    if suffix == ".safetensors":
        return dict(read_safetensors(path))
    if suffix in (".h5", ".hdf5"):
        return read_hdf5(path)
    if suffix in (".pkl", ".pickle"):
        import pickle

        with open(path, "rb") as file:
            return pickle.load(file)  # noqa: S301
    if suffix == ".joblib":
        return import_module("joblib").load(path)
    with open(path, "rb") as file:
        return file.read()


def read_safetensors(path: str) -> Iterator[tuple[str, Any]]:
    """Read the tensors of a safetensors file; bytes if a type has no format here."""
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


def read_hdf5(path: str) -> dict[str, Any]:
    """Read the data sets of an HDF5 file, by name."""
    data_sets = {}
    with import_module("h5py").File(path, "r") as file:
        file.visititems(
            lambda name, node: data_sets.update({name: node[()]} if hasattr(node, "shape") else {})
        )
    return data_sets


def equal_values(  # noqa: PLR0911 - a kind of value each
    left: Any, right: Any, visited: frozenset[int] = frozenset()
) -> bool:
    """Whether two values are the same, numbers by a tolerance; `visited` are the outer values."""
    if id(left) in visited:
        return True
    visited |= {id(left)}
    if type(left) is not type(right):
        return False
    if isinstance(left, float):
        if left == right or (isnan(left) and isnan(right)):
            return True
        largest = max(abs(left), abs(right))
        return bool(abs(left - right) <= _ABSOLUTE + _RELATIVE * largest)
    if hasattr(left, "detach"):
        left, right = (
            left.detach().cpu().numpy(),
            right.detach().cpu().numpy(),
        )
    if hasattr(left, "dtype") and hasattr(left, "shape"):
        return equal_arrays(left, right, visited)
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(
            equal_values(left[key], right[key], visited) for key in left
        )
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(
            equal_values(mine, theirs, visited)
            for mine, theirs in zip(left, right)  # noqa: B905 - not in Python 3.8
        )
    if isinstance(left, (str, bytes, int, type(None))):
        return bool(left == right)
    return equal_values(state_of(left), state_of(right), visited)


def state_of(value: Any) -> Any:
    """Return what an object would be pickled as; its name if it has no state."""
    if hasattr(value, "__getstate__"):
        return value.__getstate__()
    return getattr(value, "__dict__", None) or getattr(value, "__qualname__", None)


def equal_arrays(left: Any, right: Any, visited: frozenset[int]) -> bool:
    """Whether two arrays are the same: numbers by the tolerance, others one by one."""
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    if left.dtype.kind in "fc":
        close = import_module("numpy").allclose
        return bool(close(left, right, _RELATIVE, _ABSOLUTE, equal_nan=True))
    if left.dtype.kind in "OV":
        return equal_values(left.tolist(), right.tolist(), visited)
    return bool((left == right).all())


def main() -> None:
    output = os.dup(1)
    os.dup2(2, 1)  # libraries must not print into the answer
    answer = equal_values(load(sys.argv[1]), load(sys.argv[2]))
    os.write(output, json.dumps(answer).encode())


if __name__ == "__main__":
    main()
