"""Writes the longest word of each text; the mini-batch's first text names the file."""

import os
from pathlib import Path


def init():
    global output
    output = Path(os.environ["AZUREML_BI_OUTPUT_PATH"])


def run(mini_batch):
    longest = [max(Path(path).read_text().split(), key=len) for path in mini_batch]
    with open(output / f"longest-{Path(mini_batch[0]).stem}.txt", "w") as file:
        file.write("\n".join(longest) + "\n")
    return [Path(path).name for path in mini_batch]
