"""Compare a run with losses of a training job with the calm one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import pairwise
from math import expm1, inf, sqrt

from mlctl.dataclasses import dataclass
from mlctl.diagnostics import Rule
from mlctl.rehearsal import rules
from mlctl.rehearsal.evidence import CodeLine, Evidence
from mlctl.rehearsal.training.cuts import checkpoints
from mlctl.rehearsal.training.model import Life, Saved, Trained

_WHOLE = 0.95  # of the calm run's lines; a run that executes so many has started over
_TWICE, _MOST_TIMES = 2.0, 1000
_WRITING_S = 60.0  # a checkpoint's duration, for Young's interval


@dataclass(frozen=True)
class CalmTraining:
    """Two runs without a loss. `equal` compares a file of two runs."""

    first: Trained
    again: Trained
    equal: Callable[[Trained, Trained, str], bool]

    @cached_property
    def stable(self) -> list[str]:
        """Return the files that are the same in two equal runs, without logs."""
        return [name for name in self.results if self.equal(self.first, self.again, name)]

    @property
    def results(self) -> list[str]:
        """Return the files that are not logs."""
        appended = {
            write.path for write in self.first.lives[0].saved if write.operation == "append"
        }
        logs = appended | self.first.metric_files
        names = (name for name in self.first.files if not name.startswith("logs/"))
        return sorted(name for name in names if name not in logs)


def rare_checkpoints(life: Life, length: float | None, rate: float) -> Iterator[Evidence]:
    """Find checkpoints so far apart that losses at `rate` (per hour) double the time.

    `length` is the job's duration in seconds; None: by its own clock.
    """
    saved = checkpoints(life)
    if length is None:
        length, times = life.seconds, [checkpoint.seconds for checkpoint in saved]
    else:
        times = [checkpoint.events / life.events * length for checkpoint in saved]
    ends = [0.0, *times, length]
    longest = max(later - earlier for earlier, later in pairwise(ends))
    longer = slowdown(longest, rate)
    if longer < _TWICE:
        return
    times_longer = f"{longer:.1f} times" if longer < _MOST_TIMES else "thousands of times"
    why = (
        f"{longest / 3600:.1f} h pass without a checkpoint: at {rate:.3g} losses an hour it takes"
        f" {times_longer} as long; Young's interval is {young_interval(rate) / 60:.0f} minutes for"
        " a checkpoint of one minute"
    )
    yield Evidence(rules.RARE_CHECKPOINTS, why, _first_line(saved) or _first_line(life.writes))


def slowdown(stretch: float, rate: float) -> float:
    """Return the factor by which restarts after each loss lengthen a stretch of seconds."""
    expected = rate * stretch / 3600
    return 1.0 if expected <= 0 else expm1(min(expected, 600.0)) / expected


def young_interval(rate: float) -> float:
    """Return Young's interval in seconds for so many losses an hour."""
    return sqrt(2 * _WRITING_S * 3600 / rate) if rate > 0 else inf


def writes_outside(life: Life) -> Iterator[Evidence]:
    """Find files that are written neither on the node nor to a kept folder."""
    for write in life.outside:
        why = (
            f"this writes to `{write.path}`, not to `outputs`, nor to a scratch folder of the node"
        )
        yield Evidence(rules.OUTSIDE, why, write.place)


def judge(
    run: Trained, calm: CalmTraining, number: int, *, halves: bool, settled: frozenset[str]
) -> Iterator[Evidence]:
    """Yield what a run with losses shows, first of kill `number`, which `halves` a file or not.

    `settled` are codes that were shown already.
    """
    for name, place in (entry for life in run.lives for entry in life.read):
        why = f"`{name}`, left by an earlier run, is read: on another node it does not exist"
        yield Evidence(rules.STATE_ELSEWHERE, why, place, number)
        return
    if len(run.lives) == 1:
        return  # it ended before its kill
    restart = _Restart(run, calm, number, halves or _cut_short(run.lives[-2], calm.first))
    if restart.last.code:
        yield restart.failure(settled)
        return
    lost_progress = restart.lost_progress()
    if lost_progress is not None:
        yield lost_progress
        return
    yield from restart.metrics()
    if restart.halves and rules.OTHER_MODEL.code in settled:
        return  # it differs without half a file, too
    yield from restart.files()


def _cut_short(life: Life, calm: Trained) -> bool:
    """Whether a life has ended between opening a file and its last line."""
    if not life.saved or life.saved[-1].operation != "write":
        return False
    whole = calm.files.get(life.saved[-1].path)
    return whole is not None and 2 * life.last_size < whole.size


def starts_over(calm: Trained, life: Life) -> bool:
    """Whether a life repeats everything that one without a loss does.

    It executes as many lines, changes as many files, and logs the first steps.
    """
    whole = calm.lives[0]
    if life.events < whole.events * _WHOLE or len(life.changes) < len(whole.changes):
        return False
    steps = {step for _, step in life.metrics}
    return not steps or min(steps) <= min((step for _, step in calm.metrics), default=0)


@dataclass(frozen=True)
class _Restart:
    """The last life of a run, after a lost one; `halves` says whether it was lost in mid-write."""

    run: Trained
    calm: CalmTraining
    number: int
    halves: bool

    @property
    def previous(self) -> Life:
        """Return the life that was lost."""
        return self.run.lives[-2]

    @property
    def last(self) -> Life:
        """Return the life that came after it."""
        return self.run.lives[-1]

    @property
    def after_kill(self) -> str:
        """Say when the loss was."""
        place, file = self.previous.stopped_at, self.previous.cut
        line = f" at {place.file}:{place.line}" if place else ""
        name = f" while `{file.rpartition('/')[2]}` is written" if file else ""
        return f"after the node was lost{name}{line}"

    def evidence(self, rule: Rule, why: str, place: CodeLine | None) -> Evidence:
        """Build the finding that this kill breaks a rule."""
        return Evidence(rule, why, place, self.number)

    def failure(self, settled: frozenset[str]) -> Evidence:
        """Check whether it fails to restart: on half a file, or on leftovers of an earlier life."""
        log, saved = self.last.log, _first_line(self.previous.saved)
        lines = re.findall(r'File "[^"]*/nodes/\d+-\d+/code/([^"]+)", line (\d+)', log)
        error = log.rstrip().rpartition("\n")[2]
        why = f"the training fails {self.after_kill}: {error}"
        fails_anyway = rules.RESTART_FAILS.code in settled or "FileExistsError" in log
        if self.halves and not fails_anyway:
            return self.evidence(rules.HALF_CHECKPOINT, why, self.previous.stopped_at or saved)
        return self.evidence(
            rules.RESTART_FAILS, why, CodeLine.from_message(lines[-1]) if lines else saved
        )

    def lost_progress(self) -> Evidence | None:
        """Check whether it starts over although a checkpoint exists, or was lost with the node."""
        if not starts_over(self.calm.first, self.last):
            return None
        whole, previous = self.calm.first.lives[0], self.previous
        lines = {write.place for write in checkpoints(whole)}
        saved = [
            write
            for write in previous.saved
            if write.operation != "append" and write.place in lines
        ]
        finished = saved[:-1] if self.halves else saved
        unnamed = {write.source for write in whole.saved}  # nobody looks for them until moved
        if any(write.path not in unnamed for write in finished):
            moves = (write for write in reversed(finished) if write.operation == "move")
            checkpoint = next(moves, finished[-1]).path
            why = f"the training starts over {self.after_kill}, although `{checkpoint}` exists"
            return self.evidence(rules.FROM_ZERO, why, _first_line(finished))
        of_node = {write.place for write in checkpoints(whole, of_node=True)}
        for write in () if lines else previous.writes:
            if write.change is None and write.place in of_node:
                name = write.path.partition("/")[2]
                why = (
                    f"`{name}` is lost with the node, and the training starts over "
                    f"{self.after_kill}"
                )
                return self.evidence(rules.STATE_ELSEWHERE, why, write.place)
        return None

    def metrics(self) -> Iterator[Evidence]:
        """Find steps of metrics that are duplicated or missing."""
        calm = self.calm.first
        if calm.metrics != self.calm.again.metrics:
            return
        twice, missing = self.run.metrics - calm.metrics, calm.metrics - self.run.metrics
        if twice or missing:
            steps = f"{twice.total()} steps are duplicated"
            difference = steps if twice else f"{missing.total()} are missing"
            logs = [
                write
                for write in calm.lives[0].saved
                if write.path in calm.metric_files
                or (write.path.startswith("mlruns/") and "/metrics/" in write.path)
            ]
            why = f"of the metrics {difference} {self.after_kill}"
            yield self.evidence(rules.METRIC_STEPS, why, _first_line(logs))

    def files(self) -> Iterator[Evidence]:
        """Find the first final file that differs from the run without a loss."""
        whole, previous = self.calm.first.lives[0], self.previous
        for name in self.calm.stable:
            if not self.calm.equal(self.calm.first, self.run, name):
                rule = rules.HALF_CHECKPOINT if self.halves else rules.OTHER_MODEL
                place = previous.stopped_at if self.halves else _first_line(checkpoints(whole))
                place = place or _first_line([*previous.saved, *whole.writes])
                why = f"`{name}` differs from the calm run {self.after_kill}"
                yield self.evidence(rule, why, place)
                return


def _first_line(writes: list[Saved]) -> CodeLine | None:
    """Return the line of the first write that has one; for a rename, where the file was written."""
    return next(
        (write.place for write in writes if write.place and write.operation != "move"), None
    )
