"""Counts the words of texts, and appends the counts to a file of its own."""

import os
from pathlib import Path


def init():
    global output
    output = Path(os.environ["AZUREML_BI_OUTPUT_PATH"])


def run(mini_batch):
    rows = [f"{Path(path).name},{len(Path(path).read_text().split())}" for path in mini_batch]
    with open(output / "words.csv", "a") as file:  # MLC603
        file.writelines(f"{row}\n" for row in rows)
    return [Path(path).name for path in mini_batch]
