"""Says how long texts are, beside the mean of the texts that the model was trained with."""

from pathlib import Path

MEAN = 20.5


def run(mini_batch):
    lengths = {Path(path).name: len(Path(path).read_text()) for path in mini_batch}
    return [f"{name},{length / MEAN:.4f}" for name, length in lengths.items()]
