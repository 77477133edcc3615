"""A rehearsal of a training: calm runs, runs with a loss, and what they show."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import expm1, isclose, sqrt

from mlctl.rehearsal import rules
from mlctl.rehearsal.evidence import Evidence, once
from mlctl.rehearsal.outcome import Content, Place
from mlctl.rehearsal.rehearse import Stage
from mlctl.rehearsal.training import Cut, Life, Saved, Trained, Training, train
from mlctl.simulator.engine.processes import eviction_rate
from mlctl.simulator.engine.rng import uniform

RATE = eviction_rate(0.075)  # losses per hour, in the middle of Azure's band of 5 to 10 %
_TOLERANCE = 1e-6
_ANEW = 0.95  # of the calm run's lines; who executes so many has begun at the beginning
_TWICE = 2.0
_NUMBER = re.compile(r"-?\d+\.?\d*(?:[eE][+-]?\d+)?")


class TrainingFails(Exception):
    """The command fails without any loss; the text is for people."""


@dataclass(frozen=True, slots=True)
class TrainingRehearsal:
    """What was done and seen; `runs` are those with a loss, by the number of the kill."""

    training: Training
    seed: int
    calm: Trained
    runs: tuple[tuple[int, Cut, Trained], ...]
    evidence: tuple[Evidence, ...]


def rehearse_training(
    training: Training, stage: Stage, *, seed: int, kills: int, only: int | None, rate: float = RATE
) -> TrainingRehearsal:
    """Train without a loss, then once for each kill, and compare. `rate` is per hour.

    Raises:
        TrainingFails: the command fails without a loss.
        TooLate: the time is over.
    """

    def run(name: str, cuts: tuple[Cut, ...] = ()) -> Trained:
        stage.progress(name, kills + 2)
        folder = stage.folder / "runs" / name
        done = train(training, stage.interpreter, folder, stage.environment, cuts)
        if not stage.keep:
            shutil.rmtree(folder, ignore_errors=True)
        return done

    calm = run("calm")
    if calm.lives[0].code:
        code, log = calm.lives[0].code, calm.lives[0].log.rstrip()
        raise TrainingFails(f"the command fails without any loss (exit code {code})\n{log}")
    again = run("again")
    found = list(_rare(calm.lives[0], rate))
    runs = []
    for number, cut in _cuts(calm, seed, kills, only):
        done = run(f"kill-{number}", (cut,))
        runs.append((number, cut, done))
        told = {one.rule for one in found}
        found += [
            one
            for one in _judge(done, calm, again, number, cut)
            if one.rule is not rules.HALF_CHECKPOINT or rules.OTHER_MODEL not in told
        ]
    return TrainingRehearsal(training, seed, calm, tuple(runs), tuple(once(found)))


def _cuts(calm: Trained, seed: int, kills: int, only: int | None) -> Iterator[tuple[int, Cut]]:
    """Kills at any line, and in the middle of a checkpoint, in turns."""
    life = calm.lives[0]
    whole = [one for one in life.writes if one.kept and one.how == "write"]
    early = [number for number, one in enumerate(whole, 1) if one.events < life.events * _ANEW]
    sizes = sorted(one.size for one in calm.files.values() if one.size > 1)
    size = sizes[0] // 2 if sizes else 0
    for number in range(1, max(kills, only or 0) + 1):
        chance = uniform(f"rehearsal/{seed}/training/{number}")
        if number % 2 == 0 and early and size:
            cut = Cut(write=early[int(chance * len(early))], size=size)
        else:
            # A kill in the first third shows little: what is lost there is soon done again.
            cut = Cut(line=1 + int((0.34 + 0.6 * chance) * life.events))
        if only in (None, number):
            yield number, cut


def _checkpoints(life: Life) -> list[Saved]:
    """The writes to `outputs` that are no log and not the last thing that is done."""
    return [
        one
        for one in life.writes
        if one.kept and one.how in ("write", "move") and one.events < life.events * _ANEW
    ]


def _place(writes: list[Saved]) -> Place | None:
    """The line of the first write that has one; of a rename's file, where it was written."""
    return next((one.place for one in writes if one.place and one.how != "move"), None)


def _rare(life: Life, rate: float) -> Iterator[Evidence]:
    times = [one.seconds for one in _checkpoints(life)]
    ends = [0.0, *times, life.seconds]
    longest = max(after - before for before, after in pairwise(ends))
    stretch = rate * longest / 3600
    if not stretch or expm1(stretch) / stretch < _TWICE:
        return
    young = sqrt(2 * 60 / (rate / 3600)) / 60
    why = (
        f"{longest / 3600:.1f} h pass without a checkpoint: at {rate:.3g} losses an hour that takes"
        f" {expm1(stretch) / stretch:.1f} times as long; Young's interval is {young:.0f} minutes"
        " for a checkpoint of one minute"
    )
    yield Evidence(rules.RARE_CHECKPOINTS, why, _place(_checkpoints(life)) or _place(life.writes))


def _judge(
    done: Trained, calm: Trained, again: Trained, number: int, cut: Cut
) -> Iterator[Evidence]:
    """What a run with one loss shows."""
    if len(done.lives) == 1:
        return  # it ended before its kill
    before, after = done.lives[0], done.lives[-1]
    whole = calm.lives[0]
    kept = [one for one in before.writes if one.kept and one.how in ("write", "move")]
    elsewhere = [
        one
        for one in before.writes
        if not one.kept and one.how in ("write", "append") and one.path.startswith("code/")
    ]
    at = f" at {before.held.file}:{before.held.line}" if before.held else " while a file is written"
    after_kill = f"after the node was lost{at}"
    if after.code:
        last = after.log.rstrip().rpartition("\n")[2]
        rule = rules.HALF_CHECKPOINT if cut.write else rules.OTHER_MODEL
        yield Evidence(rule, f"the training fails {after_kill}: {last}", _place(kept), number)
        return
    if elsewhere and after.events >= whole.events * _ANEW:
        why = f"`{elsewhere[0].path[5:]}` goes with the node, and the training begins anew"
        yield Evidence(rules.STATE_ELSEWHERE, f"{why} {after_kill}", elsewhere[0].place, number)
        return
    finished = kept if cut.line else kept[:-1]
    if finished and after.events >= whole.events * _ANEW:
        there = next((one for one in finished if one.how == "move"), finished[0]).path
        why = f"the training begins anew {after_kill}, although `{there}` is there"
        yield Evidence(rules.FROM_ZERO, why, _place(finished), number)
        return
    yield from _metrics(done, calm, number, after_kill)
    for name in sorted(calm.files):
        if _is_log(name, whole) or not _same(calm.files[name], again.files.get(name)):
            continue
        if not _same(calm.files[name], done.files.get(name)):
            rule = rules.HALF_CHECKPOINT if cut.write else rules.OTHER_MODEL
            why = f"`{name}` is not as in the calm run {after_kill}"
            yield Evidence(rule, why, _place(kept) or _place(whole.writes), number)
            return


def _is_log(name: str, life: Life) -> bool:
    return name.startswith("mlruns/") or any(
        one.path == name and one.how == "append" for one in life.writes
    )


def _metrics(done: Trained, calm: Trained, number: int, after: str) -> Iterator[Evidence]:
    expected, found = Counter(calm.metrics), Counter(done.metrics)
    twice, missing = found - expected, expected - found
    if twice or missing:
        what = (
            f"{twice.total()} steps are there twice" if twice else f"{missing.total()} are missing"
        )
        logs = [one for one in calm.lives[0].writes if one.how == "append"]
        place = next((one.place for one in logs if one.place), None)
        yield Evidence(rules.METRIC_STEPS, f"of the metrics {what} {after}", place, number)


def _same(one: Content, other: Content | None) -> bool:
    """Whether two files are alike; numbers in text by a tolerance."""
    if other is None or one == other:
        return other is not None
    if one.lines is None or other.lines is None or len(one.lines) != len(other.lines):
        return False
    return all(map(_alike, one.lines, other.lines))


def _alike(one: str, other: str) -> bool:
    mine, theirs = _NUMBER.findall(one), _NUMBER.findall(other)
    return (
        _NUMBER.sub("#", one) == _NUMBER.sub("#", other)
        and len(mine) == len(theirs)
        and all(
            isclose(float(a), float(b), rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
            for a, b in zip(mine, theirs, strict=True)
        )
    )
