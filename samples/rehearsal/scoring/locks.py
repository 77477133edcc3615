"""Lets one worker at a time look at a mini-batch, by a lock in the shared folder."""

import os
from pathlib import Path


def init():
    global output
    output = Path(os.environ["AZUREML_BI_OUTPUT_PATH"])


def run(mini_batch):
    lock = output / f"{Path(mini_batch[0]).stem}.lock"
    os.close(os.open(lock, os.O_CREAT | os.O_EXCL))  # MLC615
    rows = [f"{Path(path).name},{len(Path(path).read_text())}" for path in mini_batch]
    lock.unlink()
    return rows
