"""Writes capitals, and leaves out what is there already."""

import os
from pathlib import Path


def init():
    global output
    output = Path(os.environ["AZUREML_BI_OUTPUT_PATH"])


def run(mini_batch):
    for path in map(Path, mini_batch):
        target = output / path.name
        if not target.exists():
            target.write_text(path.read_text().upper())  # MLC605
    return [Path(path).name for path in mini_batch]
