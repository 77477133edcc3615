"""Takes one word of each text, by chance."""

import random
from pathlib import Path


def run(mini_batch):
    rows = []
    for path in map(Path, mini_batch):
        words = [*path.read_text().split(), f"{path.stem}-and-a-long-tail-of-words"]
        word = random.choice(
            [word + str(number) for word in words for number in range(99)]
        )  # MLC609
        rows.append(f"{path.name},{word}")
    return rows
