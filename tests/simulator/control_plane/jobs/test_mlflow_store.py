"""The store of MLflow's runs of a job."""

from __future__ import annotations

from pathlib import Path

from mlctl.simulator.control_plane.jobs.mlflow_store import sets_experiment


def test_code_that_begins_to_name_an_experiment_is_seen(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import mlflow\n")
    assert not sets_experiment(tmp_path)
    script.write_text("import mlflow\nmlflow.set_experiment('mine')\n")
    assert sets_experiment(tmp_path)
