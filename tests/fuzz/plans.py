"""Saved plans and journals of applies, damaged before they are read again."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from mlctl.kinds.address import Address, Scope
from mlctl.planning.model import Unfinished
from mlctl.planning.unfinished.journal import FOLDER, Journals
from tests.builders.shell import cluster
from tests.fuzz.batches import Trial
from tests.fuzz.values import encoded, mutated, mutated_bytes

LOCAL = Scope("00000000-0000-0000-0000-000000000000", "local", "local")
ENDPOINT = (
    "$schema: https://azuremlschemas.azureedge.net/latest/batchEndpoint.schema.json\n"
    "name: scoring\n"
)
APPLIES: tuple[tuple[str, ...], ...] = (
    ("apply", "plan.json", "--plan-only"),
    ("apply", "plan.json", "--plan-only", "-o", "json"),
    ("apply", "plan.json", "--plan-only", "--check"),
    ("apply", "plan.json", "--yes"),
    ("apply", "plan.json", ".", "--yes"),
    ("apply", "plan.json", "--resume", "--yes"),
)
RESUMES: tuple[tuple[str, ...], ...] = (
    ("plan", "."),
    ("plan", ".", "-o", "json"),
    ("apply", "--resume", "--yes"),
    ("apply", ".", "--yes"),
    ("destroy", ".", "--yes"),
    ("doctor",),
)
LOST = (
    Unfinished(
        Address("batch-endpoint", "scoring"),
        {"properties": {"defaults": {"deploymentName": "blue"}}},
        deleted=False,
        secrets=("/properties/description",),
    ),
    Unfinished(
        Address("compute", "cpu"),
        {"location": "eastus", "tags": {"a": "b"}, "properties": {"computeType": "AmlCompute"}},
        meanwhile={"properties": {"defaults": {"deploymentName": "green"}}},
    ),
)


def plans(trial: Trial) -> None:
    """A saved plan that creates, updates, replaces or deletes, changed and then applied."""
    random = trial.random
    cluster(trial.folder / "cpu.yml")
    (trial.folder / "endpoint.yml").write_text(ENDPOINT, encoding="utf-8")
    cluster(trial.folder / "other.yml")
    trial.run("apply", "cpu.yml", "other.yml", "--yes")
    cluster(trial.folder / "cpu.yml", most=4)
    cluster(trial.folder / "other.yml", size="Standard_D2ds_v5")
    flags = random.choice(((), (), ("--destroy",)))
    trial.run("plan", ".", "--out", "plan.json", *flags)
    _damage(trial, Path("plan.json"))
    for command in random.sample(APPLIES, 2):
        trial.run(*command)


def journals(trial: Trial) -> None:
    """What an apply that did not end has left, changed and then read."""
    cluster(trial.folder / "cpu.yml")
    (trial.folder / "endpoint.yml").write_text(ENDPOINT, encoding="utf-8")
    trial.run("apply", "endpoint.yml", "--yes")
    journal = Journals(FOLDER, "local", LOCAL).new(datetime.now(UTC), ["."])
    journal.write(LOST)
    _damage(trial, journal.path)
    for command in trial.random.sample(RESUMES, 3):
        trial.run(*command)


def _damage(trial: Trial, file: Path) -> None:
    random, content = trial.random, file.read_bytes()
    if random.random() < 0.2:
        content = mutated_bytes(random, content)
    else:
        content = encoded(json.dumps(mutated(random, json.loads(content))))
    file.write_bytes(content)
    trial.begin(f"{file}: {content[:3000]!r}")
