"""Rates the fourth word of each text; some have three."""

from pathlib import Path


def run(mini_batch):
    rows = []
    for path in map(Path, mini_batch):
        words = path.read_text().split()
        rows.append(f"{path.name},{len(words[3])}")  # MLC617
    return rows
