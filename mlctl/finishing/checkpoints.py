"""Count the steps in the checkpoints of a folder, from the names and sizes of its files alone.

A node can be lost while it writes, so only checkpoints that look complete count. Whether the code
survives the incomplete ones is for `mlctl rehearse` to show.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

# Names of files that are still being written, and the step number in a name.
_PARTIAL = re.compile(r"\.(partial|part|tmp|temp|incomplete)$|(^|/)[.~]")
_STEPS = re.compile(r"(?:step|ckpt|checkpoint|epoch|iter)\D{0,3}(\d+)", re.IGNORECASE)
_PARTS = re.compile(r"\d+-of-0*(\d+)")
_LEAST = 0.9  # of the bytes that the same file has in the previous checkpoint


def count_saved_steps(sizes: Mapping[str, int], first: int, steps: int) -> int | None:
    """Return the steps in the last complete checkpoint, or None; `sizes` are bytes by file name.

    Numbers from `steps` on are not step numbers. If no name has a number, the answer is `first`.
    """
    by_step: dict[int, list[str]] = defaultdict(list)
    for name in sizes:
        numbers = [int(text) for text in _STEPS.findall(name) if int(text) < steps]
        by_step[max(numbers, default=-1)].append(name)
    unnumbered = by_step.pop(-1, [])
    if not by_step:
        return first if _bytes(unnumbered, sizes) and any(map(_is_whole, unnumbered)) else None
    last, previous = None, Counter[str]()
    for step, names in sorted(by_step.items()):
        files = _bytes(names, sizes)
        is_smaller = any(files[shape] < _LEAST * size for shape, size in previous.items())
        if files and not is_smaller and all(map(_is_whole, names)) and _has_all_parts(names):
            last, previous = step, files
    return last


def _is_whole(name: str) -> bool:
    return not _PARTIAL.search(name)


def _bytes(names: Iterable[str], sizes: Mapping[str, int]) -> Counter[str]:
    """Sum bytes by file name without its numbers; empty files are left out."""
    files = Counter[str]()
    for name in names:
        files[_shape(name)] += sizes[name]
    return +files


def _has_all_parts(names: Iterable[str]) -> bool:
    """Check that sets such as `model-00001-of-00003` have all their files."""
    counts = Counter((_shape(name), match[1]) for name in names if (match := _PARTS.search(name)))
    return all(count == int(total) for (_, total), count in counts.items())


def _shape(name: str) -> str:
    return re.sub(r"\d+", "#", name)
