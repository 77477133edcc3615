"""Appends its metrics, and drops those behind the checkpoint that it goes on from."""

import json
from pathlib import Path

POINTS = [(x / 10, 3 * x / 10 + 1) for x in range(20)]


def step(slope, offset):
    misses = [(x, slope * x + offset - y) for x, y in POINTS]
    slope -= 0.01 * sum(x * miss for x, miss in misses) / len(POINTS)
    offset -= 0.01 * sum(miss for _, miss in misses) / len(POINTS)
    return slope, offset


outputs = Path("outputs")
last, metrics = outputs / "last.json", outputs / "metrics.jsonl"
state = {"epoch": 0, "slope": 0.0, "offset": 0.0}
if last.exists():
    state = json.loads(last.read_text())
if metrics.exists():
    known = [line for line in metrics.read_text().splitlines() if line.endswith("}")]
    kept = [line for line in known if json.loads(line)["epoch"] <= state["epoch"]]
    metrics.write_text("".join(f"{line}\n" for line in kept))
while state["epoch"] < 60:
    state["slope"], state["offset"] = step(state["slope"], state["offset"])
    state["epoch"] += 1
    with metrics.open("a") as log:
        log.write(json.dumps({"epoch": state["epoch"], "slope": state["slope"]}) + "\n")
    if state["epoch"] % 12 == 0:
        part = last.with_suffix(".part")
        part.write_text(json.dumps(state))
        part.replace(last)
(outputs / "line.json").write_text(json.dumps(state))
