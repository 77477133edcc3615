"""Says how long texts are, beside the mean of those that happen to come with them."""

from pathlib import Path


def run(mini_batch):
    lengths = {Path(path).name: len(Path(path).read_text()) for path in mini_batch}
    mean = sum(lengths.values()) / len(lengths)  # MLC608
    return [f"{name},{length / mean:.4f}" for name, length in lengths.items()]
