"""What commands leave behind and read again (state, plans, configuration), damaged in between."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

from tests.builders.shell import cluster
from tests.fuzz.batches import Trial
from tests.fuzz.values import data, encoded, mutated, mutated_bytes, word

BEFORE: tuple[tuple[str, ...], ...] = (
    ("compute", "create", "--file", "cpu.yml", "--no-wait"),
    ("batch-endpoint", "create", "-n", "endpoint"),
    ("local", "fault", "add", "fail", "--nth", "99"),
    ("plan", "more.yml", "--out", "saved.plan"),
)
AFTER: tuple[tuple[str, ...], ...] = (
    ("plan", "."),
    ("apply", "cpu.yml", "--yes"),
    ("apply", "saved.plan", "--yes"),
    ("destroy", "cpu.yml", "--yes"),
    ("compute", "list"),
    ("compute", "show", "-n", "cpu", "-o", "table"),
    ("compute", "list-nodes", "-n", "cpu"),
    ("compute", "delete", "-n", "cpu", "--yes"),
    ("compute", "metrics", "-n", "cpu"),
    ("batch-endpoint", "list", "-o", "table"),
    ("job", "list"),
    ("local", "status"),
    ("local", "usage"),
    ("local", "advance", "1h"),
    ("local", "quota", "list"),
    ("local", "fault", "list"),
    ("local", "reset", "--yes"),
    ("emulator", "env"),
    ("doctor",),
)
STATE = Path(".mlctl", "local.db")
TEXTS = (
    "saved.plan",
    "mlctl.yml",
    ".mlctl/emulator.json",
    "../.azure/config",
    "../.config/mlctl/config",
)
INSTANCE = {
    **dict.fromkeys(("url", "ca_file", "bundle", "subscription", "resource_group"), "x"),
    "url": "http://127.0.0.1:9",
    "workspace": "w",
    "token": None,
    "pid": 1,
    "folder": "",
}


def case(trial: Trial) -> None:
    """Commands before and after a file was damaged."""
    cluster(trial.folder / "cpu.yml")
    cluster(trial.folder / "more.yml", most=4)
    for command in BEFORE:
        trial.run(*command)
    random = trial.random
    match random.randrange(4):
        case 0:
            content = mutated_bytes(random, STATE.read_bytes())
            STATE.write_bytes(content)
            for rest in ("-wal", "-shm"):
                Path(f"{STATE}{rest}").unlink(missing_ok=True)
        case 1:
            _damage_row(trial)
        case _:
            _damage_text(trial)
    for command in random.sample(AFTER, 4):
        trial.run(*command)


def _damage_row(trial: Trial) -> None:
    random = trial.random
    db = sqlite3.connect(STATE, isolation_level=None)
    try:
        tables = [
            name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")
        ]
        table = random.choice([one for one in tables if not one.startswith("sqlite_")])
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        column = random.choice(columns)
        row = db.execute(f"SELECT {column} FROM {table} LIMIT 1").fetchone()
        value = _other(trial, row[0] if row else "")
        trial.begin(f"{table}.{column} = {value!r}")
        db.execute(f"UPDATE OR REPLACE {table} SET {column} = ?", (value,))
    except sqlite3.Error:
        pass  # a constraint forbids it
    finally:
        db.close()


def _other(trial: Trial, held: object) -> object:
    random = trial.random
    if isinstance(held, str) and held[:1] in ("{", "[") and random.random() < 0.7:
        return encoded(json.dumps(mutated(random, json.loads(held)))).decode()
    value = random.choice(
        (word(random), 1, -1, 1e300, 2**62, b"\xff", "{}", "[]", json.dumps(data(random)))
    )
    return encoded(value).decode(errors="replace") if isinstance(value, str) else value


def _damage_text(trial: Trial) -> None:
    random = trial.random
    file = Path(random.choice(TEXTS))
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".json":
        folder = {"folder": str(file.parent.resolve()), "pid": os.getpid()}
        content = encoded(json.dumps(mutated(random, INSTANCE | folder)))
    elif file.name == "mlctl.yml":
        content = encoded(
            f"{word(random)}: {word(random)}\nworkspace: {json.dumps(data(random))}\n"
        )
    elif file.name == "config":
        content = encoded(
            f"[{word(random)}]\n[defaults]\nworkspace = {word(random)}\n{word(random)}\n"
        )
    else:
        content = _damaged_plan(trial, file)
    trial.begin(f"{file}: {content[:500]!r}")
    file.write_bytes(content)
    file.chmod(0o600)


def _damaged_plan(trial: Trial, file: Path) -> bytes:
    content = file.read_bytes()
    if trial.random.random() < 0.3:
        return mutated_bytes(trial.random, content)
    return encoded(json.dumps(mutated(trial.random, json.loads(content))))
