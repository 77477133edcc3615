"""Writes a recovery checkpoint every ten epochs, as hi-ml does, and never looks for one."""

import json
from pathlib import Path

POINTS = [(x / 10, 3 * x / 10 + 1) for x in range(20)]


def step(slope, offset):
    misses = [(x, slope * x + offset - y) for x, y in POINTS]
    slope -= 0.01 * sum(x * miss for x, miss in misses) / len(POINTS)
    offset -= 0.01 * sum(miss for _, miss in misses) / len(POINTS)
    return slope, offset


slope = offset = 0.0
checkpoints = Path("outputs", "checkpoints")
checkpoints.mkdir(parents=True, exist_ok=True)
for epoch in range(1, 61):  # MLC651
    slope, offset = step(slope, offset)
    if epoch % 10 == 0:
        state = json.dumps({"epoch": epoch, "slope": slope, "offset": offset})
        part = checkpoints / ".part"
        part.write_text(state)
        part.replace(checkpoints / f"recovery_epoch={epoch}.json")
Path("outputs", "line.json").write_text(json.dumps({"slope": slope, "offset": offset}))
