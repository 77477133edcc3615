"""Asks a slow service, which takes half a minute for each text."""

import time
from pathlib import Path


def run(mini_batch):
    rows = []
    for path in map(Path, mini_batch):
        time.sleep(25)  # MLC613
        rows.append(f"{path.name},{len(path.read_text())}")
    return rows
