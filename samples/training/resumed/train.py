"""Fit a line in small steps, and go on from the checkpoints of an earlier run."""

import argparse
import json
import random
from pathlib import Path

RATE, EVERY = 0.01, 10


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--resume", type=Path, required=True)
    parser.add_argument("--checkpoints", type=Path, required=True)
    wanted = parser.parse_args()
    wanted.checkpoints.mkdir(parents=True, exist_ok=True)
    epoch, slope, offset = latest(wanted.checkpoints) or latest(wanted.resume) or (0, 0.0, 0.0)
    points = [(x / 10, 3 * x / 10 + 1 + random.Random(x).gauss(0, 0.1)) for x in range(50)]
    while epoch < wanted.epochs:
        misses = [(x, slope * x + offset - y) for x, y in points]
        slope -= RATE * sum(x * miss for x, miss in misses) / len(points)
        offset -= RATE * sum(miss for _, miss in misses) / len(points)
        epoch += 1
        if epoch % EVERY == 0 or epoch == wanted.epochs:
            state = json.dumps({"epoch": epoch, "slope": slope, "offset": offset})
            part = wanted.checkpoints / f"epoch-{epoch:06}.part"
            part.write_text(state, encoding="utf-8")
            part.replace(part.with_suffix(".json"))  # whole, or not at all


def latest(folder: Path) -> tuple[int, float, float] | None:
    """Where the last complete checkpoint of a folder left off; None where there is none."""
    whole = sorted(folder.glob("epoch-*.json"))
    if not whole:
        return None
    state = json.loads(whole[-1].read_text(encoding="utf-8"))
    return state["epoch"], state["slope"], state["offset"]


if __name__ == "__main__":
    main()
