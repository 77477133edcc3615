"""Takes one word of each text, by chance: the same one each time, for the text is the seed."""

import random
from pathlib import Path


def run(mini_batch):
    rows = []
    for path in map(Path, mini_batch):
        words = [*path.read_text().split(), f"{path.stem}-and-a-long-tail-of-words"]
        word = random.Random(path.name).choice(words)
        rows.append(f"{path.name},{word}")
    return rows
