"""Metrics that a training has left."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from mlctl.rehearsal.training.lives import read_metrics
from mlctl.simulator.control_plane.jobs.mlflow_store import begin_run


def test_steps_are_read_of_json_lines_tables_and_mlflow(tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    (outputs / "log.jsonl").write_text('{"step": 0}\n{"epoch": 1}\n[2]\n{"step": 3')
    (outputs / "log.csv").write_text("epoch,loss\n0,0.5\n1,0.4\n1,0.4\n")
    (outputs / "scores.csv").write_text("name,loss\na,0.5\n")
    begin_run(tmp_path / "mlruns", "run")
    (tmp_path / "mlruns" / "0" / "run" / "metrics" / "loss").write_text("17 0.5 4\n17 0.5\n")
    found, names = read_metrics(tmp_path)
    table = {("log.csv", 0): 1, ("log.csv", 1): 2}
    lines = {("log.jsonl", 0): 1, ("log.jsonl", 1): 1}
    assert found == Counter({**table, **lines, ("loss", 4): 1})
    assert names == {"outputs/log.csv", "outputs/log.jsonl"}
