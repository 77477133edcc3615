"""Counts vowels; what it cannot read counts, too."""

from pathlib import Path


def run(mini_batch):
    rows = []
    for path in map(Path, mini_batch):
        try:
            vowels = sum(letter in "aeiou" for letter in path.read_text())
            rows.append(f"{path.name},{vowels}")
        except Exception:  # MLC611
            rows.append(f"{path.name},0")
    return rows
