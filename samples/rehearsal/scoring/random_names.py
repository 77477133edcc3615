"""Writes the words of each text under a name that nobody else has."""

import os
import uuid
from pathlib import Path


def init():
    global output
    output = Path(os.environ["AZUREML_BI_OUTPUT_PATH"])


def run(mini_batch):
    for path in map(Path, mini_batch):
        words = "\n".join(path.read_text().split())
        (output / f"{uuid.uuid4().hex}.txt").write_text(words)  # MLC604
    return [Path(path).name for path in mini_batch]
