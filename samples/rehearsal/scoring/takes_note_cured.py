"""Says how long texts are, and needs no notes."""

from pathlib import Path


def run(mini_batch):
    return [f"{path.name},{len(path.read_text())}" for path in map(Path, mini_batch)]
