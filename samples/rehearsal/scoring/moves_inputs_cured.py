"""Leaves each text where it is."""

from pathlib import Path


def run(mini_batch):
    return [f"{path.name},{len(path.read_text())}" for path in map(Path, mini_batch)]
