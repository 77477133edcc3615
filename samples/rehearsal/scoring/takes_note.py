"""Notes which texts are done, to be quick the second time; notes too early."""

import os
from pathlib import Path


def init():
    global done
    done = Path(os.environ["AZUREML_BI_OUTPUT_PATH"], ".done")
    done.mkdir(exist_ok=True)


def run(mini_batch):
    rows = []
    for path in map(Path, mini_batch):
        note = done / path.name
        if not note.exists():
            note.touch()  # MLC601
            rows.append(f"{path.name},{len(path.read_text())}")
    return rows
