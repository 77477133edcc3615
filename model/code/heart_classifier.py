"""The loader that `MLmodel` names: boosted trees from JSON, by the standard library alone."""

from __future__ import annotations

import json
import math
from pathlib import Path


class Trees:
    """The sum of the leaves that a row falls into, squashed to a probability."""

    def __init__(self, trees: list[dict]) -> None:
        self.trees = trees

    def predict(self, rows, params=None):  # noqa: ARG002 - MLflow passes it
        """One probability per row of a pandas DataFrame."""
        return [self._probability(row) for row in rows.to_dict("records")]

    def _probability(self, row: dict) -> float:
        return 1 / (1 + math.exp(-sum(_leaf(tree, row) for tree in self.trees)))


def _leaf(node: dict, row: dict) -> float:
    while "leaf" not in node:
        node = node["yes"] if row[node["split"]] < node["at"] else node["no"]
    return node["leaf"]


def _load_pyfunc(path: str) -> Trees:
    return Trees(json.loads(Path(path).read_text()))
