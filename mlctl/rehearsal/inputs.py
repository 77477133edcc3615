"""The inputs of scoring, files of a folder or rows of a table, and their mini-batches.

A batch endpoint hands out files, whatever they contain. A parallel job gets rows of an MLTable that
it opens directly: `run` is called with a DataFrame ("Use parallel jobs in pipelines").
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mlctl import files
from mlctl.dataclasses import dataclass, field

MiniBatches = tuple[tuple[str, ...], ...]
_COPIED = 1 << 26  # bytes; a bigger input is read in place


class RehearsalError(ValueError):
    """A rehearsal that is impossible; the text is one sentence for people."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """Files, by their sorted names relative to a folder, or rows of a table, by number.

    For rows, `root` is the file into which the table was converted, `bytes` the original size, and
    `groups` are rows that stay together, with `keys` of the first row of each.
    """

    root: Path
    names: tuple[str, ...]
    tabular: bool = False
    bytes: int = 0
    groups: MiniBatches = ()
    keys: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def find(cls, path: Path) -> Inputs:
        """Return the files below a folder, or the one file.

        Raises:
            RehearsalError: there are none.
        """
        real = files.real(path)
        if files.is_file(real):
            return cls(real.parent, (real.name,))
        if not files.is_folder(real):
            raise RehearsalError(f"there is no input `{path}`")
        paths = sorted(entry for entry in real.rglob("*") if files.is_file(entry))
        if not paths:
            raise RehearsalError(f"the input `{path}` has no files")
        return cls(real, tuple(entry.relative_to(real).as_posix() for entry in paths))

    @property
    def unit(self) -> str:
        """Return the word for one input."""
        return "row" if self.tabular else "file"

    @property
    def copied(self) -> bool:
        """Whether each run gets a copy, which a script can damage."""
        if self.tabular:
            return False
        return sum((self.root / name).stat().st_size for name in self.names) <= _COPIED

    def lay_out(self, folder: Path) -> Path:
        """Return where a run finds the files: a copy in `folder`, or the originals."""
        if not self.copied:
            return self.root
        for name in self.names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.root / name, folder / name)
        return folder

    def order(self, index: int, mini_batch: Sequence[str], place: Path) -> Mapping[str, Any]:
        """Build the order for a mini-batch; `place` is where the run has the inputs."""
        if self.tabular:
            keys = self.keys.get(mini_batch[0])
            return {"rows": [int(number) for number in mini_batch], "index": index, "keys": keys}
        return {"run": [str(place / name) for name in mini_batch], "index": index}

    def elements(self, mini_batch: Sequence[str]) -> int:
        """Return how many elements `run` must return at least: one per input, or per group."""
        return 1 if self.groups else len(mini_batch)

    def rows_of(self, size: int) -> int:
        """Convert bytes to a number of rows, by the average size of a row."""
        return max(1, size * len(self.names) // max(1, self.bytes))

    def mini_batches(self, size: int) -> MiniBatches:
        """Split into mini-batches of `size`, the last may be smaller; or return the groups."""
        return self.groups or mini_batches(self.names, size)


def mini_batches(names: Sequence[str], size: int) -> MiniBatches:
    """Split the names into mini-batches of `size`; the last may be smaller."""
    return tuple(tuple(names[at : at + size]) for at in range(0, len(names), size))
