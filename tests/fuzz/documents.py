"""Documents of the samples and cases with something odd in them, in the commands that read them."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

from tests.builders.paths import CASES, SAMPLES
from tests.fuzz.batches import Trial
from tests.fuzz.values import encoded, mutated_bytes, mutated_text

FOLDERS = (SAMPLES, CASES / "rules", CASES / "plan")
COMMANDS = (
    ("validate", "."),
    ("validate", ".", "-o", "json"),
    ("validate", ".", "-o", "sarif"),
    ("validate", ".", "-o", "github"),
    ("plan", "."),
    ("plan", ".", "-o", "json"),
    ("plan", ".", "-o", "markdown"),
    ("plan", ".", "--out", "saved.plan"),
    ("apply", ".", "--yes"),
    ("destroy", ".", "--yes"),
    ("convert", "FILE"),
    ("compute", "create", "--file", "FILE", "--dry-run"),
    ("compute", "create", "--file", "FILE"),
    ("batch-deployment", "create", "--file", "FILE"),
    ("model", "create", "--file", "FILE"),
    ("data", "create", "--file", "FILE"),
    ("environment", "create", "--file", "FILE"),
    ("job", "create", "--file", "FILE"),
)


@cache
def seeds() -> tuple[Path, ...]:
    """The files to begin with."""
    found = (file for folder in FOLDERS for file in folder.rglob("*"))
    return tuple(sorted(one for one in found if one.suffix in (".yml", ".yaml", ".py", ".json")))


def case(trial: Trial) -> None:
    """A copy of a file's folder, with one file of it changed, in three commands."""
    random = trial.random
    seed = random.choice(seeds())
    shutil.copytree(seed.parent, trial.folder, dirs_exist_ok=True)
    file = trial.folder / seed.name
    content = encoded(mutated_text(random, seed.read_text(encoding="utf-8")))
    file.write_bytes(mutated_bytes(random, content) if random.random() < 0.1 else content)
    for command in random.sample(COMMANDS, 3):
        trial.run(*(seed.name if one == "FILE" else one for one in command))
