"""Takes some words of each text, by chance: the same each time, for its name is the seed."""

import random
from pathlib import Path


def run(mini_batch):
    rows = []
    for path in map(Path, mini_batch):
        words = path.read_text().split()
        some = random.Random(path.name).choices(words, k=20)
        rows.append(f"{path.name},{' '.join(some)}")
    return rows
