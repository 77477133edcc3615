"""Keeps all that it has seen."""

from pathlib import Path

cache = []


def run(mini_batch):
    rows = []
    for path in map(Path, mini_batch):
        text = path.read_text()
        cache.append(bytearray(4_000_000))  # MLC616: a big tensor of the text
        rows.append(f"{path.name},{len(text)}")
    return rows
