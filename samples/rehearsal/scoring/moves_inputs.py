"""Removes each text once it is counted."""

from pathlib import Path


def run(mini_batch):
    rows = []
    for path in map(Path, mini_batch):
        rows.append(f"{path.name},{len(path.read_text())}")
        path.unlink()  # MLC618
    return rows
