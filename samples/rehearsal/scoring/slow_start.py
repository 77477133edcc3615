"""Waits long for its model, in each worker of each node."""

import time
from pathlib import Path


def init():  # MLC612
    for _ in range(20):  # the shards of the model
        time.sleep(15)


def run(mini_batch):
    return [f"{path.name},{len(path.read_text())}" for path in map(Path, mini_batch)]
