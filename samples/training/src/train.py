"""Fit a line to noisy points, in small steps, so that it can be interrupted at any moment.

Only what is in `outputs` comes back after a preemption. A checkpoint is written under another name
and renamed when it is complete: a node that is taken away in between leaves the one before. Metrics
are appended: the epochs since that checkpoint are there twice.
"""

import argparse
import json
import random
from pathlib import Path

CHECKPOINTS = Path("outputs", "checkpoints")
METRICS = Path("outputs", "metrics.jsonl")
RATE = 0.01


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--checkpoint-every", type=int, default=10)
    parser.add_argument("--model", type=Path, default=Path("outputs"))
    wanted = parser.parse_args()
    epoch, slope, offset = latest()
    points = [(x / 10, 3 * x / 10 + 1 + random.Random(x).gauss(0, 0.1)) for x in range(50)]
    while epoch < wanted.epochs:
        misses = [(x, slope * x + offset - y) for x, y in points]
        slope -= RATE * sum(x * miss for x, miss in misses) / len(points)
        offset -= RATE * sum(miss for _, miss in misses) / len(points)
        epoch += 1
        log(epoch, sum(miss**2 for _, miss in misses))
        if epoch % wanted.checkpoint_every == 0:
            save(epoch, slope, offset)
    wanted.model.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"slope": slope, "offset": offset})
    (wanted.model / "line.json").write_text(text, encoding="utf-8")


def latest() -> tuple[int, float, float]:
    """Where the last complete checkpoint left off; the beginning where there is none."""
    found = sorted(CHECKPOINTS.glob("recovery_*.json"))
    if not found:
        return 0, 0.0, 0.0
    state = json.loads(found[-1].read_text(encoding="utf-8"))
    return state["epoch"], state["slope"], state["offset"]


def log(epoch: int, loss: float) -> None:
    """Add a line to the metrics."""
    METRICS.parent.mkdir(parents=True, exist_ok=True)
    with METRICS.open("a", encoding="utf-8") as metrics:
        metrics.write(json.dumps({"epoch": epoch, "loss": loss}) + "\n")


def save(epoch: int, slope: float, offset: float) -> None:
    """Write a checkpoint: whole, or not at all."""
    CHECKPOINTS.mkdir(parents=True, exist_ok=True)
    name = CHECKPOINTS / f"recovery_{epoch:06}.json"
    part = name.with_suffix(".part")
    state = {"epoch": epoch, "slope": slope, "offset": offset}
    part.write_text(json.dumps(state), encoding="utf-8")
    part.replace(name)


if __name__ == "__main__":
    main()
