"""Where the lives of a training job end: by number and seed, or by a weather."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mlctl.rehearsal import losses
from mlctl.rehearsal.training.model import Cut, Life, Saved, Trained
from mlctl.simulator.engine.processes import PreemptionProcess
from mlctl.simulator.engine.rng import uniform

_EARLY, _LATE = 0.34, 0.94  # what is lost shortly before or after is quickly repeated
_END = 0.95  # of the lines; what is written later is a result, not a checkpoint
_START = 0.05
_FEW = 8  # lines between two kills' places that make no difference
MOST_LIVES = 50  # by a weather; a job that never ends has shown it by then
_NO_STATE = (".jsonl", ".ndjson", ".csv", ".tsv", ".log", ".txt", ".png", ".html", ".yaml", ".yml")
_KEPT, _OF_NODE = ("outputs/", "named/"), ("code/", "tmp/", "home/")
_NUMBERS = re.compile(r"\d+")


def checkpoints(life: Life, *, of_node: bool = False) -> list[Saved]:
    """Return the writes from which a life could resume; with `of_node` also those to the node.

    They are neither logs nor a library's own files, and neither the first nor the last action,
    unless repeated.
    """
    candidates = [
        write
        for write in life.writes
        if write.operation in ("write", "move")
        and write.path.startswith(_OF_NODE if of_node else _KEPT)
        and (write.change is None) is of_node
        and not (of_node and "/." in write.path)
        and not write.path.endswith(_NO_STATE)
        and write.events < life.events * _END
    ]
    names = [_NUMBERS.sub("#", write.path) for write in candidates]
    return [
        write
        for write, name in zip(candidates, names, strict=True)
        if names.count(name) > 1 or write.events > life.events * _START
    ]


def by_number(
    calm: Trained, seed: int, count: int, only: int | None, *, anywhere: bool
) -> Iterator[tuple[int, Cut]]:
    """Plan numbered kills: alternately at a line and in the middle of a checkpoint.

    With `anywhere`: at any line, before any change of kept files, or in the middle of one. Kill K
    is the same for any `count`.
    """
    life = calm.lives[0]
    for number in range(1, max(count, only or 0) + 1):
        if only not in (None, number):
            continue
        key = f"rehearsal/{seed}/training/{number}"
        if anywhere:
            yield number, _cut_anywhere(calm, life, key)
        else:
            halves = number % 2 == 0
            yield number, _cut_checkpoint(calm, life, key) if halves else _cut_at_line(life, key)


def _cut_at_line(life: Life, key: str) -> Cut:
    """Cut at a line after the first checkpoint, or before a later change if lines are few."""
    chance = uniform(key)
    first = next((checkpoint for checkpoint in checkpoints(life)), None)
    low = max(_EARLY, first.events / life.events) if first is not None and life.events else _EARLY
    high = min(_LATE, _last_change(life) / life.events) if life.events else _LATE
    if first is not None and (high - low) * life.events < _FEW:
        later = [write for write in life.changes if write.events >= first.events][1:]
        if later:
            change = later[int(chance * len(later))]
            return Cut(change=change.change, rank=change.rank)
    low = min(low, high)
    return Cut(line=1 + int((low + (high - low) * chance) * life.events))


def _last_change(life: Life) -> int:
    """Return the line event after which no kept file changes: the work is done by then."""
    return max((write.events for write in life.changes if write.rank == 0), default=life.events)


def _cut_checkpoint(calm: Trained, life: Life, key: str) -> Cut:
    """Cut in the middle of a checkpoint; at a line if there is none."""
    chance = uniform(key)
    written = [checkpoint for checkpoint in checkpoints(life) if checkpoint.operation == "write"]
    whole = [
        (checkpoint, size) for checkpoint in written if (size := _size(calm, life, checkpoint)) > 1
    ]
    if not whole:
        return _cut_at_line(life, key)
    write, size = whole[int(chance * len(whole))]
    return Cut(change=write.change, size=size // 2, rank=write.rank)


def _cut_anywhere(calm: Trained, life: Life, key: str) -> Cut:
    """Cut at any line of any life, before a change of kept files, or in the middle of one."""
    kind, chance = uniform(f"{key}/kind"), uniform(key)
    changes = life.changes
    if kind < 1 / 3 or not changes:
        return Cut(line=1 + int(chance * _last_change(life)))
    change = changes[int(chance * len(changes))]
    size = _size(calm, life, change)
    # MLflow's server gets a whole metric or nothing.
    if kind < 2 / 3 or size < 2 or change.path.startswith("mlruns/"):  # noqa: PLR2004
        return Cut(change=change.change, rank=change.rank)
    return Cut(change=change.change, size=int(uniform(f"{key}/size") * size), rank=change.rank)


def _size(calm: Trained, life: Life, write: Saved) -> int:
    """Return the bytes that a write adds to its file; 0 if none of it remains visible."""
    name = next((saved.path for saved in life.saved if saved.source == write.path), write.path)
    if name not in calm.files:
        return 0
    size = calm.files[name].size
    if write.operation == "append":
        times = sum(
            saved.path == write.path and saved.operation == "append" for saved in life.saved
        )
        return size // times
    return size


def by_weather(
    weather: Sequence[PreemptionProcess], nodes: int, seed: int, length: float, life: Life
) -> list[tuple[int, Cut]]:
    """Return the losses during a training job of `length` virtual seconds, in order.

    Each loss takes all nodes of the job; new ones come after a while.
    """
    cuts: list[tuple[int, Cut]] = []
    began = 0.0
    for loss in losses.by_weather(weather, nodes, seed):
        if loss.at < began:
            continue  # nothing runs
        line = 1 + int((loss.at - began) / length * life.events)
        if line > life.events or len(cuts) == MOST_LIVES:
            break
        cuts.append((loss.number, Cut(line=line)))
        began = loss.at + losses.REPLACEMENT_S
    return cuts
