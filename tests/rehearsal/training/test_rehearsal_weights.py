"""Weights in files, compared by the Python that wrote them."""

from __future__ import annotations

import json
import pickle
import struct
import sys
from pathlib import Path
from typing import Any

import pytest

from mlctl.rehearsal.process import Interpreter
from mlctl.rehearsal.training.rehearsal import equal_weights
from mlctl.rehearsal.worker.weights import equal_values


def safetensors(weights: list[float]) -> bytes:
    """A file with one tensor of 32-bit floats."""
    data = struct.pack(f"<{len(weights)}f", *weights)
    about = {"dtype": "F32", "shape": [len(weights)], "data_offsets": [0, len(data)]}
    header = json.dumps({"__metadata__": {"made": "now"}, "w": about}).encode()
    return struct.pack("<Q", len(header)) + header + data


@pytest.mark.parametrize(
    ("suffix", "write"), [(".safetensors", safetensors), (".pkl", pickle.dumps)]
)
def test_weights_in_files_are_compared_by_a_tolerance(
    suffix: str, write: Any, tmp_path: Path
) -> None:
    interpreter = Interpreter(sys.executable, alone=False, memory=0, mark="", ends=0)
    paths = [tmp_path / f"{number}{suffix}" for number in range(3)]
    for path, weight in zip(paths, (1.0, 1.000001, 1.01), strict=True):
        path.write_bytes(write([weight, 2.0]))
    assert equal_weights(paths[0], paths[1], interpreter, {})
    assert not equal_weights(paths[0], paths[2], interpreter, {})


def test_a_file_that_cannot_be_read_is_like_no_other(tmp_path: Path) -> None:
    interpreter = Interpreter(sys.executable, alone=False, memory=0, mark="", ends=0)
    for name in ("a.pkl", "b.pkl"):
        (tmp_path / name).write_bytes(b"no pickle")
    assert not equal_weights(tmp_path / "a.pkl", tmp_path / "b.pkl", interpreter, {})


class Layer:
    """A model with a part that is a model."""

    def __init__(self, weight: float, below: Layer | None = None) -> None:
        self.weight, self.below = weight, below or self


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"w": [1.0, (2.0,)]}, {"w": [1.0, (2.0000001,)]}, True),
        ({"w": [1.0]}, {"v": [1.0]}, False),
        ([1.0], [1.0, 2.0], False),
        (float("nan"), float("nan"), True),
        (1, 1.0, False),
        (Layer(1.0, Layer(2.0)), Layer(1.0, Layer(2.0000001)), True),
        (Layer(1.0, Layer(2.0)), Layer(1.0, Layer(2.1)), False),
    ],
)
def test_values_are_alike_where_their_numbers_are(one: object, other: object, same: bool) -> None:
    assert equal_values(one, other) is same
