"""Answer in place of a missing model: a number from the hash of each line of a file."""

from __future__ import annotations

import hashlib
from pathlib import Path


def run(mini_batch: list[str]) -> list[str]:
    """Return a line `row,prediction,file` for each line."""
    rows = []
    for path in map(Path, mini_batch):
        for number, line in enumerate(path.read_bytes().splitlines()):
            score = int.from_bytes(hashlib.sha256(line).digest()[:2], "big") / 65536
            rows.append(f"{number},{score:.4f},{path.name}")
    return rows
