"""Keeps a journal of the rows of each mini-batch, and starts it over with each attempt."""

import os
from pathlib import Path


def init():
    global journals
    journals = Path(os.environ["AZUREML_BI_OUTPUT_PATH"], ".journals")
    journals.mkdir(exist_ok=True)


def run(mini_batch):
    rows = [f"{path.name},{len(path.read_text())}" for path in map(Path, mini_batch)]
    (journals / Path(mini_batch[0]).name).write_text("\n".join(rows) + "\n")
    return rows
