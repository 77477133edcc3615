"""A rehearsal of a training job: calm runs, runs with losses, and what they show."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from math import isclose
from pathlib import Path

from mlctl.dataclasses import dataclass, replace
from mlctl.rehearsal import rules
from mlctl.rehearsal.evidence import Evidence, first_of_each
from mlctl.rehearsal.folders import Content
from mlctl.rehearsal.inputs import RehearsalError
from mlctl.rehearsal.process import Interpreter, TooLate
from mlctl.rehearsal.stage import KillSchedule, Stage
from mlctl.rehearsal.training import cuts
from mlctl.rehearsal.training.judge import (
    CalmTraining,
    judge,
    rare_checkpoints,
    starts_over,
    writes_outside,
)
from mlctl.rehearsal.training.lives import RunConditions, train
from mlctl.rehearsal.training.model import Cut, Trained, Training
from mlctl.simulator.engine.processes import Poisson, PreemptionProcess, Shock, eviction_rate
from mlctl.simulator.engine.rng import uniform

RATE = eviction_rate(0.075)  # losses per hour, in the middle of Azure's range of 5 to 10 %
_HASH_SEEDS = 2**32
_WEIGHTS = Path(__file__).parents[1] / "worker" / "weights.py"
_WEIGHTS_TIMEOUT = 60.0  # seconds for two files
_TOLERANCE = 1e-6
_NUMBER = re.compile(r"-?\d+\.?\d*(?:[eE][+-]?\d+)?")
_SLEPT = 0.5  # of its time; if it sleeps so much, its clock is the same on each machine


def rate_of(weather: Sequence[PreemptionProcess]) -> float:
    """Return a node's losses per hour by the weather, else the middle of Azure's range."""
    rates = [
        process.rate * (process.fraction if isinstance(process, Shock) else 1)
        for process in weather
        if isinstance(process, (Poisson, Shock))
    ]
    return sum(rates) if rates else RATE


class TrainingFails(Exception):
    """The command fails without any loss; the text is for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """How to rehearse a training job: see `KillSchedule`. `rate` is per hour.

    `seconds` is how long it takes; None: as long as it sleeps.
    """

    schedule: KillSchedule
    rate: float = RATE
    anywhere: bool = False
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class TrainingRehearsal:
    """The result of a rehearsal; `runs` are those with losses, by number of their first kill."""

    training: Training
    plan: TrainingPlan
    calm: Trained
    runs: tuple[tuple[int, tuple[Cut, ...], Trained], ...]
    evidence: tuple[Evidence, ...]
    unlike: tuple[str, ...]  # files that differ without any loss
    stopped: BaseException | None = None  # why it ended before its last kill

    @property
    def most_lives(self) -> bool:
        """Whether a weather would have taken more nodes than are rehearsed."""
        return any(len(run.lives) > cuts.MOST_LIVES for _, _, run in self.runs)

    @property
    def starts_over(self) -> bool:
        """Whether each run with a loss started over."""
        again = [run.lives[-1] for _, _, run in self.runs if len(run.lives) > 1]
        return bool(again) and all(starts_over(self.calm, life) for life in again)


class _Rehearsal:
    """The runs of one training job, in folders of the stage."""

    def __init__(self, training: Training, stage: Stage, plan: TrainingPlan) -> None:
        self.training, self.stage, self.plan = training, stage, plan
        self.outside: set[str] = set()

    def run(self, name: str, lost: Sequence[Cut] = (), hashes: str = "calm") -> Trained:
        """Run once; the files stay until they have been compared."""
        losses = self.plan.schedule
        self.stage.progress(name, 2 + (1 if losses.weather or losses.only else losses.kills))
        seed = int(uniform(f"rehearsal/{losses.seed}/training/{hashes}") * _HASH_SEEDS)
        conditions = RunConditions(
            self.stage.interpreter, self.stage.environment, seed, frozenset(self.outside)
        )
        trained = train(self.training, conditions, self.stage.folder / "runs" / name, lost)
        for life in trained.lives:
            self.outside |= {write.path for write in life.outside}
        return trained

    def drop(self, trained: Trained) -> None:
        """Remove what a run has left, unless it is to be kept."""
        if not self.stage.keep:
            shutil.rmtree(trained.folder.parent, ignore_errors=True)

    def same(self, first: Trained, second: Trained, name: str) -> bool:
        """Whether two runs have left the same file, apart from the last digits of numbers."""
        if name not in first.files or name not in second.files:
            return False
        if equal_contents(first.files[name], second.files[name]):
            return True
        stage = self.stage
        return first.files[name].lines is None and equal_weights(
            first.folder / name, second.folder / name, stage.interpreter, stage.environment
        )


def rehearse_training(training: Training, stage: Stage, plan: TrainingPlan) -> TrainingRehearsal:
    """Train without a loss, then with the losses of the plan, and compare.

    Raises:
        RehearsalError: a weather needs the job's duration, which is unknown.
        TrainingFails: the command fails without a loss.
        TooLate: the time is over before the first kill.
    """
    rehearsal = _Rehearsal(training, stage, plan)
    first = rehearsal.run("calm")
    life = first.lives[0]
    if life.code:
        reason = f"the command fails without any loss (exit code {life.code})"
        raise TrainingFails(f"{reason}\n{life.log.rstrip()}")
    calm = CalmTraining(first, rehearsal.run("again", hashes="again"), rehearsal.same)
    evidence = [*rare_checkpoints(life, plan.seconds, plan.rate), *writes_outside(life)]
    runs = []
    stopped = None
    try:
        for name, number, lost in _losses(plan, first, training.nodes):
            run = rehearsal.run(name, lost)
            runs.append((number, lost, run))
            settled = frozenset(item.rule.code for item in evidence)
            observed = judge(run, calm, number, halves=lost[0].halves, settled=settled)
            for item in observed:
                place = item.place
                if item.rule is rules.FROM_ZERO and place is not None:
                    place = place.loop_around(training.code)  # of the checkpoint's write
                evidence.append(replace(item, place=place))
            rehearsal.drop(run)
    except (KeyboardInterrupt, TooLate) as error:
        stopped = error
    unlike = sorted(set(calm.results) - set(calm.stable))
    rehearsal.drop(calm.first)
    rehearsal.drop(calm.again)
    return TrainingRehearsal(
        training, plan, first, tuple(runs), first_of_each(evidence), tuple(unlike), stopped
    )


def _losses(
    plan: TrainingPlan, calm: Trained, nodes: int
) -> Iterator[tuple[str, int, tuple[Cut, ...]]]:
    """Return the runs with losses: a name, the number of the first loss, all of them."""
    schedule = plan.schedule
    if not schedule.weather:
        for number, cut in cuts.by_number(
            calm, schedule.seed, schedule.kills, schedule.only, anywhere=plan.anywhere
        ):
            yield f"kill-{number}", number, (cut,)
        return
    numbered_cuts = cuts.by_weather(
        schedule.weather, nodes, schedule.seed, _seconds(plan, calm), calm.lives[0]
    )
    if schedule.only is not None:
        numbered_cuts = [numbered for numbered in numbered_cuts if numbered[0] == schedule.only]
    if numbered_cuts:
        yield "weather", numbered_cuts[0][0], tuple(cut for _, cut in numbered_cuts)


def _seconds(plan: TrainingPlan, calm: Trained) -> float:
    """Return how long the job takes, in virtual seconds."""
    life = calm.lives[0]
    if plan.seconds is not None:
        return plan.seconds
    if life.slept < _SLEPT * life.seconds:
        raise RehearsalError("a weather needs to know how long the training takes: give --steps N")
    return life.slept


def equal_contents(first: Content, second: Content) -> bool:
    """Whether two files are the same; numbers in text by a tolerance."""
    if first == second:
        return True
    if first.lines is None or second.lines is None or len(first.lines) != len(second.lines):
        return False
    text, other_text = "\n".join(first.lines), "\n".join(second.lines)
    if _NUMBER.sub("#", text) != _NUMBER.sub("#", other_text):
        return False
    return all(
        isclose(float(number), float(other_number), rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
        for number, other_number in zip(
            _NUMBER.findall(text), _NUMBER.findall(other_text), strict=True
        )
    )


def equal_weights(
    first: Path, second: Path, interpreter: Interpreter, environment: Mapping[str, str]
) -> bool:
    """Whether two files hold the same weights by a tolerance, as the user's Python reads them.

    Unreadable files are not the same.
    """
    with suppress(OSError, subprocess.TimeoutExpired, ValueError):
        arguments = [str(first), str(second)]
        answer = interpreter.ask(_WEIGHTS, arguments, environment, _WEIGHTS_TIMEOUT)
        return json.loads(answer or b"false") is True
    return False
