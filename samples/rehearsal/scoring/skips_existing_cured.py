"""Writes capitals, and leaves out what is there already: under its name stands what is whole."""

import os
from pathlib import Path


def init():
    global output
    output = Path(os.environ["AZUREML_BI_OUTPUT_PATH"])


def run(mini_batch):
    for path in map(Path, mini_batch):
        target = output / path.name
        if not target.exists():
            part = target.with_suffix(".part")
            part.write_text(path.read_text().upper())
            part.replace(target)
    return [Path(path).name for path in mini_batch]
