"""How long a job takes, said with flags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.builders.shell import Run


def test_nodes_take_their_time_to_start(mlctl: Run, sample: Path) -> None:
    mlctl("apply", sample, "--yes")
    mlctl("local", "delays", "set", "--allocation", "0", "--preparation", "0")
    mlctl("local", "workload", "set", "--seconds-per-mini-batch", "20", "--seconds-per-start", "45")

    def ended(*more: str) -> Any:
        line = ("-n", "heart-classifier-batch", "-m", "1", "--files", "8", *more)
        slots = ("--set", "max_concurrency_per_instance=1", "--query", "name", "-o", "tsv")
        job = mlctl("batch-endpoint", "invoke", *line, *slots).out.strip()
        return mlctl("job", "wait", "-n", job).json

    assert ended()["makespan_s"] == 45 + 4 * 20  # on two nodes
    failed = ended("--seconds-per-start", "700")
    assert (failed["status"], failed["makespan_s"]) == ("Failed", 600)
    assert "first_task_creation_timeout" in failed["reason"]
