"""What a job left behind, held against its inputs: each of them once."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from mlctl.rehearsal import rules
from mlctl.rehearsal.evidence import Evidence
from mlctl.rehearsal.inputs import Inputs, RehearsalError

_SHOWN = 3  # names in a message


def verify(left: Path, inputs: Inputs, key: int | None = None) -> Iterator[Evidence]:
    """Which inputs have no row, and which rows are there twice, in a file or folder of results.

    A row belongs to the input whose file's name, with or without its folders, stands in a cell;
    with `key` in that cell (from 1), which then may hold each name once.

    Raises:
        RehearsalError: there are no rows.
    """
    rows = list(_rows(left))
    if not rows:
        raise RehearsalError(f"`{left}` has no rows")
    if key is not None and all(len(row) < key for row in rows):
        raise RehearsalError(f"no row of `{left}` has {key} cells")
    names = {Path(one).name for one in inputs.names}
    keys = Counter(
        name for row in rows for name in _named(row if key is None else row[key - 1 : key], names)
    )
    missing = sorted(names - keys.keys())
    if missing:
        why = f"{len(missing)} of {len(names)} inputs have no row: {_list(missing)}"
        yield Evidence(rules.INPUT_LOST, why, None)
    same = Counter(tuple(row) for row in rows)
    twice = [" ".join(row) for row, count in same.items() if count > 1]
    if key is not None:
        twice = [name for name, count in keys.items() if count > 1]
    if twice:
        what = "rows are" if key is None else "inputs are"
        yield Evidence(
            rules.INPUT_DOUBLED, f"{len(twice)} {what} there twice: {_list(twice)}", None
        )


def _rows(left: Path) -> Iterator[list[str]]:
    """The cells of all lines of text files."""
    for file in [left] if left.is_file() else sorted(left.rglob("*")):
        if not file.is_file() or file.name.startswith("."):
            continue
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        yield from (row for row in csv.reader(text.splitlines()) if row)


def _named(cells: list[str], names: set[str]) -> Iterator[str]:
    found = {cell.strip().strip("'\"[]() ").rpartition("/")[2] for cell in cells} & names
    yield from found


def _list(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(f"`{one}`" for one in names[:_SHOWN]) + more
