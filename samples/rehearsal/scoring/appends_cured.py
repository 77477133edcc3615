"""Counts the words of texts; each has a file of its own, which a second attempt replaces."""

import os
from pathlib import Path


def init():
    global output
    output = Path(os.environ["AZUREML_BI_OUTPUT_PATH"])


def run(mini_batch):
    for path in mini_batch:
        row = f"{Path(path).name},{len(Path(path).read_text().split())}\n"
        (output / f"{Path(path).stem}.csv").write_text(row)
    return [Path(path).name for path in mini_batch]
