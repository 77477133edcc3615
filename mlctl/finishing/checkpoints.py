"""How far the checkpoints in a folder are, by the names and sizes of its files alone.

A node can go while it writes. So a checkpoint is trusted only where it is whole as far as names and
sizes tell; whether the code survives the other ones `mlctl rehearse` shows, by cuts as these.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

# Names of files that are not written to their end, and what in a name says how far a checkpoint is.
_PARTIAL = re.compile(r"\.(partial|part|tmp|temp|incomplete)$|(^|/)[.~]")
_STEPS = re.compile(r"(?:step|ckpt|checkpoint|epoch|iter)\D{0,3}(\d+)", re.IGNORECASE)
_PARTS = re.compile(r"\d+-of-0*(\d+)")
_LEAST = 0.9  # of the bytes that the same file has in the checkpoint before it


def steps_saved(sizes: Mapping[str, int], first: int, steps: int) -> int | None:
    """The steps of the last whole checkpoint among files with their bytes; None: there is none.

    Numbers from `steps` on mean something else. Where no name has one, it is `first`.
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
    """The bytes of files by their names without numbers; empty files are none."""
    files = Counter[str]()
    for name in names:
        files[_shape(name)] += sizes[name]
    return +files


def _has_all_parts(names: Iterable[str]) -> bool:
    """Whether of files such as `model-00001-of-00003` there are as many as they say."""
    counts = Counter((_shape(name), match[1]) for name in names if (match := _PARTS.search(name)))
    return all(count == int(total) for (_, total), count in counts.items())


def _shape(name: str) -> str:
    return re.sub(r"\d+", "#", name)
