"""Check that the results of a job have each of its inputs once."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil
from pathlib import Path

from mlctl.rehearsal import rules
from mlctl.rehearsal.evidence import Evidence
from mlctl.rehearsal.inputs import Inputs, RehearsalError, mini_batches

_SHOWN = 3  # names in a message
_SIMULATED = re.compile(r"mini-batch (\d+),simulated")


def verify(
    results: Path,
    inputs: Inputs,
    key: int | None = None,
    size: int | None = None,
    *,
    title: str | None = None,
) -> Iterator[Evidence]:
    """Find inputs without a row, and rows that occur twice, in a file or folder of results.

    A row belongs to the input whose file's name, with or without its folders, is in a cell; with
    `key` in that cell (from 1), which then may have each name once. A simulated job has rows of
    mini-batches, of `size` files each; if that is unknown, as many as the last row says.

    Raises:
        RehearsalError: there are no rows.
    """
    rows = list(_rows(results))
    if not rows:
        raise RehearsalError(f"`{title or results}` has no rows")
    if key is not None and all(len(row) < key for row in rows):
        raise RehearsalError(f"no row of `{title or results}` has {key} cells")
    names = {Path(name).name for name in inputs.names}
    numbers = [_SIMULATED.fullmatch(",".join(row)) for row in rows]
    if all(numbers):
        rows = list(
            _of_mini_batches([int(match[1]) for match in numbers if match], inputs.names, size)
        )
    cells = (row if key is None else row[key - 1 : key] for row in rows)
    plain = ({cell.strip().strip("'\"[]() ").rpartition("/")[2] for cell in row} for row in cells)
    keys = Counter(name for row in plain for name in row & names)
    missing = sorted(names - keys.keys())
    if missing:
        have = "has" if len(missing) == 1 else "have"
        why = f"{len(missing)} of {len(names)} inputs {have} no row: {_list(missing)}"
        yield Evidence(rules.INPUT_LOST, why, None)
    counts = Counter(tuple(row) for row in rows)
    twice = [" ".join(row) for row, count in counts.items() if count > 1]
    if key is not None:
        twice = [name for name, count in keys.items() if count > 1]
    if twice:
        noun = "row" if key is None else "input"
        subject = f"{noun} is" if len(twice) == 1 else f"{noun}s are"
        yield Evidence(
            rules.INPUT_DOUBLED, f"{len(twice)} {subject} listed twice: {_list(twice)}", None
        )


def _of_mini_batches(
    numbers: Sequence[int], names: Sequence[str], size: int | None
) -> Iterator[list[str]]:
    """Return the rows that a script would have returned for these mini-batches: a name each."""
    batch_size = size or ceil(len(names) / (max(numbers) + 1))
    batches = mini_batches(names, batch_size)
    for number in numbers:
        yield from ([name] for name in (batches[number : number + 1] or [()])[0])


def _rows(results: Path) -> Iterator[list[str]]:
    """Return the cells of all lines of text files."""
    for file in [results] if results.is_file() else sorted(results.rglob("*")):
        if not file.is_file() or file.name.startswith("."):
            continue
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        yield from (row for row in csv.reader(text.splitlines()) if row)


def _list(names: list[str]) -> str:
    ending = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(f"`{name}`" for name in names[:_SHOWN]) + ending
