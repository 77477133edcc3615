"""Writes the words of each text under the name of the text."""

import os
from pathlib import Path


def init():
    global output
    output = Path(os.environ["AZUREML_BI_OUTPUT_PATH"])


def run(mini_batch):
    for path in map(Path, mini_batch):
        words = "\n".join(path.read_text().split())
        (output / f"{path.stem}.words.txt").write_text(words)
    return [Path(path).name for path in mini_batch]
