"""Numbers the texts with a counter that lives as long as the worker."""

from pathlib import Path


def init():
    global seen
    seen = 0


def run(mini_batch):
    global seen
    rows = []
    for path in map(Path, mini_batch):
        seen += 1  # MLC607
        rows.append(f"{seen},{path.name},{len(path.read_text())}")
    return rows
