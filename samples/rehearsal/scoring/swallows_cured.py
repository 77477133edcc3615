"""Counts vowels; what it cannot read is missing from the result, and counts as failed."""

from pathlib import Path


def run(mini_batch):
    rows = []
    for path in map(Path, mini_batch):
        try:
            vowels = sum(letter in "aeiou" for letter in path.read_text())
            rows.append(f"{path.name},{vowels}")
        except OSError as error:
            print(f"{path.name}: {error}")
    return rows
