"""The tables of a state file, and how those of an older version become those of this one."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

OLDEST, VERSION = 6, 11  # the oldest version that can be read, and the one that is written
APPLICATION = 0x6D6C6374  # "mlct": SQLite's `application_id` of our files

TABLES = (
    "resource_references",
    "quota_claims",
    "quota_usage",
    "quota_limits",
    "operations",
    "faults",
    "commands",
    "ended_jobs",
    "jobs",
    "workloads",
    "locks",
    "activity",
    "leases",
    "journals",
    "resources",
    "workspaces",
)  # what a reset empties; `world` and `engine` have one row each


def create(connection: sqlite3.Connection) -> None:
    """Create the tables, or bring old ones up to date, unless another process has meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    text = Path(__file__).with_name("tables.sql").read_text(encoding="utf-8")
    _, *parts = re.split(r"^-- version (\d+).*\n", text, flags=re.MULTILINE)
    for made, script in zip(parts[::2], parts[1::2], strict=True):
        for statement in _statements(script) if version < int(made) else ():
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _statements(script: str) -> Iterator[str]:
    """The statements of a script one by one, as `executescript` would end the transaction."""
    text = ""
    for line in script.splitlines(keepends=True):
        text += line
        if sqlite3.complete_statement(text):
            yield text
            text = ""
