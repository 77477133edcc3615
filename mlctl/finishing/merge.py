"""Merge the results of shards into one folder, as if one run had scored all files."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

_SIMULATED = re.compile(r"^mini-batch (\d+),simulated$", re.MULTILINE)


def merge(parts: Sequence[Path], batches: Sequence[int], output_file: str, to: Path) -> None:
    """Merge result folders into `to`, in their order; `to` must not have any of their files.

    The file that `append_row` writes is concatenated. Other files keep their names, unless several
    shards have the same one: then each goes to a folder named after its shard. Rows of a simulated
    cloud number their mini-batches; the numbers continue across shards, of which each has
    `batches`.
    """
    names = [
        {path.relative_to(part).as_posix() for path in part.rglob("*") if path.is_file()}
        for part in parts
    ]
    first = 0
    for number, part in enumerate(parts):
        for name in sorted(names[number]):
            other_parts = (files for at, files in enumerate(names) if at != number)
            if Path(name).name == output_file:
                _append(part / name, to / name, first)
                continue
            shared = any(name in files for files in other_parts)
            target = to / (f"shard-{number + 1:04}/{name}" if shared else name)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(part / name, target)
        first += batches[number]


def _append(source: Path, target: Path, first: int) -> None:
    data = source.read_bytes()
    if b",simulated" in data[:100] and first:
        text = _SIMULATED.sub(
            lambda row: f"mini-batch {int(row[1]) + first},simulated", data.decode()
        )
        data = text.encode()
    if data and not data.endswith(b"\n"):
        data += b"\n"
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("ab") as file:
        file.write(data)
