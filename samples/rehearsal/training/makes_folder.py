"""Makes the folder of its checkpoints, which is there already when it starts again."""

import json
from pathlib import Path

POINTS = [(x / 10, 3 * x / 10 + 1) for x in range(20)]


def step(slope, offset):
    misses = [(x, slope * x + offset - y) for x, y in POINTS]
    slope -= 0.01 * sum(x * miss for x, miss in misses) / len(POINTS)
    offset -= 0.01 * sum(miss for _, miss in misses) / len(POINTS)
    return slope, offset


folder = Path("outputs", "checkpoints")
folder.mkdir()  # MLC657
last = folder / "last.json"
state = {"epoch": 0, "slope": 0.0, "offset": 0.0}
if last.exists():
    state = json.loads(last.read_text())
while state["epoch"] < 60:
    state["slope"], state["offset"] = step(state["slope"], state["offset"])
    state["epoch"] += 1
    if state["epoch"] % 5 == 0:
        part = last.with_suffix(".part")
        part.write_text(json.dumps(state))
        part.replace(last)
Path("outputs", "line.json").write_text(json.dumps(state))
