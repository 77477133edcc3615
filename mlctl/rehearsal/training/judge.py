"""What a run of a training with losses shows, beside the calm one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import expm1, inf, sqrt

from mlctl.rehearsal import rules
from mlctl.rehearsal.evidence import CodeLine, Evidence
from mlctl.rehearsal.training.cuts import checkpoints
from mlctl.rehearsal.training.model import Life, Saved, Trained

_ANEW = 0.95  # of the calm run's lines; who executes so many has begun at the beginning
_TWICE = 2.0
_WRITING_S = 60.0  # a checkpoint's, for Young's interval


@dataclass(frozen=True)
class CalmTraining:
    """Two runs without a loss. `same` says whether a file of two runs is the same."""

    first: Trained
    again: Trained
    same: Callable[[Trained, Trained, str], bool]

    @cached_property
    def stable(self) -> list[str]:
        """The files that two runs of the same leave alike, logs apart."""
        return [name for name in self.results if self.same(self.first, self.again, name)]

    @property
    def results(self) -> list[str]:
        """The files that are no logs."""
        appended = {one.path for one in self.first.lives[0].saved if one.how == "append"}
        logs = appended | self.first.metric_files
        names = (one for one in self.first.files if not one.startswith("logs/"))
        return sorted(name for name in names if name not in logs)


def rare(life: Life, length: float | None, rate: float) -> Iterator[Evidence]:
    """Checkpoints so far apart that losses at `rate` (per hour) double the time.

    `length` are the seconds that the training takes; None: what its own clock says.
    """
    saved = checkpoints(life)
    if length is None:
        length, times = life.seconds, [one.seconds for one in saved]
    else:
        times = [one.events / life.events * length for one in saved]
    ends = [0.0, *times, length]
    longest = max(after - before for before, after in pairwise(ends))
    longer = slowdown(longest, rate)
    if longer < _TWICE:
        return
    why = (
        f"{longest / 3600:.1f} h pass without a checkpoint: at {rate:.3g} losses an hour that takes"
        f" {_times(longer)} as long; Young's interval is {_minutes(rate)} for a checkpoint of one"
        " minute"
    )
    yield Evidence(rules.RARE_CHECKPOINTS, why, _place(saved) or _place(life.writes))


def slowdown(stretch: float, rate: float) -> float:
    """How many times as long a stretch of seconds takes that begins anew with each loss."""
    expected = rate * stretch / 3600
    return 1.0 if expected <= 0 else expm1(min(expected, 600.0)) / expected


def young(rate: float) -> float:
    """Young's interval in seconds, at so many losses an hour."""
    return sqrt(2 * _WRITING_S * 3600 / rate) if rate > 0 else inf


def _times(longer: float) -> str:
    return f"{longer:.1f} times" if longer < 1000 else "thousands of times"  # noqa: PLR2004


def _minutes(rate: float) -> str:
    return f"{young(rate) / 60:.0f} minutes"


def outside(life: Life) -> Iterator[Evidence]:
    """Files that are written neither on the node nor to what is kept."""
    for one in life.outside:
        why = f"this writes to `{one.path}`, not to `outputs`, and on no scratch folder of the node"
        yield Evidence(rules.OUTSIDE, why, one.place)


def judge(
    done: Trained, calm: CalmTraining, number: int, *, halves: bool, settled: frozenset[str]
) -> Iterator[Evidence]:
    """What a run shows that lost nodes, first by the kill `number`, which `halves` a file or not.

    `settled` are the codes of what was shown already.
    """
    for name, place in (one for life in done.lives for one in life.read):
        why = f"`{name}`, which an earlier life has left, is read: on another node it is not there"
        yield Evidence(rules.STATE_ELSEWHERE, why, place, number)
        return
    if len(done.lives) == 1:
        return  # it ended before its kill
    before, after = done.lives[-2], done.lives[-1]
    halves = halves or _cut_short(before, calm.first)
    after_kill = f"after the node was lost{_at(before)}"
    if after.code:
        yield _failed(
            before, after, after_kill, number, halves=halves and not _again(after, settled)
        )
        return
    anew = list(_anew(done, calm, after_kill, number, halves=halves))
    if anew:
        yield from anew
        return
    yield from _metrics(done, calm, number, after_kill)
    if halves and rules.OTHER_MODEL.code in settled:
        return  # it differs without half a file, too
    for name in calm.stable:
        if not calm.same(calm.first, done, name):
            rule = rules.HALF_CHECKPOINT if halves else rules.OTHER_MODEL
            why = f"`{name}` is not as in the calm run {after_kill}"
            whole = calm.first.lives[0]
            place = before.held if halves else _place(checkpoints(whole))
            yield Evidence(rule, why, place or _place([*before.saved, *whole.writes]), number)
            return


def _cut_short(life: Life, calm: Trained) -> bool:
    """Whether a life has ended between the opening of a file and its last line."""
    if not life.saved or life.saved[-1].how != "write":
        return False
    whole = calm.files.get(life.saved[-1].path)
    return whole is not None and 2 * life.last_size < whole.size


def _at(life: Life) -> str:
    line = f" at {life.held.file}:{life.held.line}" if life.held else ""
    if life.cut is None:
        return line
    name = life.cut.rpartition("/")[2]
    return f" while `{name}` is written{line}"


def _failed(before: Life, after: Life, after_kill: str, number: int, *, halves: bool) -> Evidence:
    """The training does not start again: of half a file, or of what a former life has left."""
    last = after.log.rstrip().rpartition("\n")[2]
    why = f"the training fails {after_kill}: {last}"
    if halves:
        return Evidence(rules.HALF_CHECKPOINT, why, before.held or _place(before.saved), number)
    return Evidence(rules.RESTART_FAILS, why, _raised(after.log) or _place(before.saved), number)


def _again(after: Life, settled: frozenset[str]) -> bool:
    """Whether a life fails as it does without half a file."""
    return rules.RESTART_FAILS.code in settled or "FileExistsError" in after.log


def _raised(log: str) -> CodeLine | None:
    """The last line of the user's code in a traceback."""
    found = re.findall(r'File "[^"]*/nodes/\d+-\d+/code/([^"]+)", line (\d+)', log)
    return CodeLine(found[-1][0], int(found[-1][1])) if found else None


def begins_anew(calm: Trained, after: Life) -> bool:
    """Whether a life does all that one without a loss does.

    It executes as many lines, changes as many files, and logs the first of all steps.
    """
    whole = calm.lives[0]
    if after.events < whole.events * _ANEW or len(after.changes) < len(whole.changes):
        return False
    steps = {step for _, step in after.metrics}
    return not steps or min(steps) <= min((step for _, step in calm.metrics), default=0)


def _anew(
    done: Trained, calm: CalmTraining, after_kill: str, number: int, *, halves: bool
) -> Iterator[Evidence]:
    before, after = done.lives[-2], done.lives[-1]
    if not begins_anew(calm.first, after):
        return
    whole = calm.first.lives[0]
    lines = {one.place for one in checkpoints(whole)}
    saved = [one for one in before.saved if one.how != "append" and one.place in lines]
    finished = saved[:-1] if halves else saved
    unnamed = {one.source for one in whole.saved}  # until they are moved, nobody looks for them
    if any(one.path not in unnamed for one in finished):
        there = next((one for one in reversed(finished) if one.how == "move"), finished[-1]).path
        why = f"the training begins anew {after_kill}, although `{there}` is there"
        yield Evidence(rules.FROM_ZERO, why, _place(finished), number)
        return
    of_node = {one.place for one in checkpoints(whole, of_node=True)}
    elsewhere = [one for one in before.writes if one.change is None and one.place in of_node]
    if elsewhere and not lines:
        name = elsewhere[0].path.partition("/")[2]
        why = f"`{name}` goes with the node, and the training begins anew {after_kill}"
        yield Evidence(rules.STATE_ELSEWHERE, why, elsewhere[0].place, number)


def _metrics(done: Trained, calm: CalmTraining, number: int, after: str) -> Iterator[Evidence]:
    expected, found = calm.first.metrics, done.metrics
    if expected != calm.again.metrics:
        return
    twice, missing = found - expected, expected - found
    if twice or missing:
        what = (
            f"{twice.total()} steps are there twice" if twice else f"{missing.total()} are missing"
        )
        logs = [one for one in calm.first.lives[0].saved if _logs(one, calm.first)]
        yield Evidence(rules.METRIC_STEPS, f"of the metrics {what} {after}", _place(logs), number)


def _logs(one: Saved, calm: Trained) -> bool:
    of_mlflow = one.path.startswith("mlruns/") and "/metrics/" in one.path
    return of_mlflow or one.path in calm.metric_files


def _place(writes: list[Saved]) -> CodeLine | None:
    """The line of the first write that has one; of a rename's file, where it was written."""
    return next((one.place for one in writes if one.place and one.how != "move"), None)
