"""Builders: scoring scripts of the standard library alone, with their deployments."""

from __future__ import annotations

from pathlib import Path

ONLINE = """\
import json, os, time
from pathlib import Path

def init():
    global factor
    factor = int((Path(os.environ["AZUREML_MODEL_DIR"]) / "model" / "factor.txt").read_text())
    print("factor", factor)

def run(raw_data):
    data = json.loads(raw_data)["data"]
    if data == "slow":
        time.sleep(5)
    return [factor * number for number in data]
"""
BATCH = """\
from pathlib import Path

def init():
    pass

def run(mini_batch):
    rows = []
    for path in map(Path, mini_batch):
        if path.name.startswith("bad"):
            raise ValueError(path.name)
        rows.append(f"{path.name},{len(path.read_text())}")
    return rows
"""


def online_files(folder: Path, script: str = ONLINE, **settings: object) -> Path:
    """An online endpoint `scores` with a deployment `blue` that multiplies by three."""
    for name in ("code", "model"):
        (folder / name).mkdir()
    (folder / "code" / "score.py").write_text(script)
    (folder / "model" / "factor.txt").write_text("3")
    more = "".join(f"{name}: {value}\n" for name, value in settings.items())
    (folder / "blue.yml").write_text(
        "name: blue\nendpoint_name: scores\nmodel: {path: ./model}\ninstance_count: 1\n"
        "code_configuration: {code: ./code, scoring_script: score.py}\n"
        "environment: {image: python}\ninstance_type: Standard_D2as_v4\n" + more
    )
    return folder / "blue.yml"


def batch_files(folder: Path, script: str = BATCH, **settings: object) -> Path:
    """A cluster, a batch endpoint `scoring` and its deployment `blue`; four files in `data`."""
    for name in ("code", "data"):
        (folder / name).mkdir()
    (folder / "code" / "score.py").write_text(script)
    for number in range(4):
        (folder / "data" / f"f{number}.txt").write_text("x" * number)
    more = ", ".join(
        f"{name}: {value}" for name, value in {"mini_batch_size": 1, **settings}.items()
    )
    (folder / "all.yml").write_text(
        "name: cpu\ntype: amlcompute\nsize: Standard_DS3_v2\nmax_instances: 2\n---\n"
        "$schema: https://azuremlschemas.azureedge.net/latest/batchEndpoint.schema.json\n"
        "name: scoring\ndefaults: {deployment_name: blue}\n---\n"
        "$schema: https://azuremlschemas.azureedge.net/latest/modelBatchDeployment.schema.json\n"
        "name: blue\nendpoint_name: scoring\ntype: model\nmodel: {path: ./code}\n"
        "code_configuration: {code: ./code, scoring_script: score.py}\n"
        f"environment: {{image: python}}\ncompute: azureml:cpu\nsettings: {{{more}}}\n"
    )
    return folder / "all.yml"
