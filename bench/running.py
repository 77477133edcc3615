"""What `mlctl job run` costs: a pipeline of nothing, a parallel step, and what has not changed."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

from bench.commands import Command, measured
from bench.figure import Effort, Figure, at_most, beside
from bench.rehearsal import SCRIPT, alone

_SCHEMA = "https://azuremlschemas.azureedge.net/latest/pipelineJob.schema.json"

NOTHING = {"type": "command", "command": "true", "environment": "azureml:env@latest"}


def figures(effort: Effort) -> Iterator[Figure]:
    """All figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pipeline(folder, {f"s{step}": NOTHING for step in range(10)})
        first = seconds(folder, "job", "run", "pipeline.yml")
        yield at_most("run ten steps of `true`", first, "s", 3)
        again = [seconds(folder, "job", "run", "pipeline.yml") for _ in range(effort.runs)]
        plain = [seconds(folder, "validate", "pipeline.yml") for _ in range(effort.runs)]
        over = median(again) - median(plain)
        yield at_most("run them again, beside a validate", over, "s", 0.3)
    count = 200 if effort.quick else 1000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scoring(folder, count)
        ours = seconds(folder, "job", "run", "pipeline.yml")
        theirs = alone(folder / "code", count)
        yield beside(f"run {count:,} mini-batches of 10 ms", ours, theirs, "the script alone", 1.2)


def seconds(folder: Path, *words: str) -> float:
    """The seconds of a command of mlctl."""
    return measured(Command((sys.executable, "-m", "mlctl", *words), folder)).seconds


def pipeline(folder: Path, steps: Mapping[str, Mapping[str, object]]) -> None:
    """`pipeline.yml` of these steps."""
    document = {
        "$schema": _SCHEMA,
        "type": "pipeline",
        "settings": {"default_compute": "azureml:cpu"},
        "jobs": steps,
    }
    (folder / "pipeline.yml").write_text(json.dumps(document))  # JSON is YAML


def scoring(folder: Path, count: int) -> None:
    """A pipeline whose one step scores as many files, each a mini-batch, in two processes."""
    (folder / "code").mkdir()
    (folder / "code" / "score.py").write_text(SCRIPT)
    (folder / "in").mkdir()
    for number in range(count):
        (folder / "in" / f"{number}.txt").touch()
    step = {
        "type": "parallel",
        "inputs": {"files": {"type": "uri_folder", "path": "./in"}},
        "outputs": {"rows": {"type": "uri_file"}},
        "input_data": "${{inputs.files}}",
        "mini_batch_size": "1",
        "max_concurrency_per_instance": 2,
        "task": {
            "type": "run_function",
            "code": "./code",
            "entry_script": "score.py",
            "append_row_to": "${{outputs.rows}}",
            "environment": "azureml:env@latest",
        },
    }
    pipeline(folder, {"score": step})
