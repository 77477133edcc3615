"""Keeps nothing."""

from pathlib import Path


def run(mini_batch):
    rows = []
    for path in map(Path, mini_batch):
        text = path.read_text()
        tensor = bytearray(4_000_000)
        rows.append(f"{path.name},{len(text)}")
        del tensor
    return rows
