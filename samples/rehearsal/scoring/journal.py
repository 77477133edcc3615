"""Keeps a journal of the rows of each mini-batch, and returns what is in it."""

import os
from pathlib import Path


def init():
    global journals
    journals = Path(os.environ["AZUREML_BI_OUTPUT_PATH"], ".journals")
    journals.mkdir(exist_ok=True)


def run(mini_batch):
    journal = journals / Path(mini_batch[0]).name
    for path in map(Path, mini_batch):
        with journal.open("a") as file:  # MLC602
            file.write(f"{path.name},{len(path.read_text())}\n")
    return journal.read_text().splitlines()
