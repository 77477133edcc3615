"""A rehearsal of a training: calm runs, runs with losses, and what they show."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isclose
from pathlib import Path

from mlctl.rehearsal.evidence import Evidence, first_of_each
from mlctl.rehearsal.folders import Content
from mlctl.rehearsal.inputs import RehearsalError
from mlctl.rehearsal.process import Interpreter
from mlctl.rehearsal.stage import KillSchedule, Stage
from mlctl.rehearsal.training import cuts
from mlctl.rehearsal.training.judge import CalmTraining, begins_anew, judge, outside, rare
from mlctl.rehearsal.training.lives import Conditions, train
from mlctl.rehearsal.training.model import Cut, Trained, Training
from mlctl.simulator.engine.processes import Poisson, PreemptionProcess, Shock, eviction_rate
from mlctl.simulator.engine.rng import uniform

RATE = eviction_rate(0.075)  # losses per hour, in the middle of Azure's band of 5 to 10 %
_HASH_SEEDS = 2**32
_WEIGHTS = Path(__file__).parents[1] / "worker" / "weights.py"
_WEIGHTS_TIMEOUT = 60.0  # seconds for two files
_TOLERANCE = 1e-6
_NUMBER = re.compile(r"-?\d+\.?\d*(?:[eE][+-]?\d+)?")
_SLEPT = 0.5  # of its time; who sleeps as much has a clock that says the same on each machine


def rate_of(weather: Sequence[PreemptionProcess]) -> float:
    """The losses of a node in an hour, as far as a weather says; else in the middle of the band."""
    rates = [
        one.rate * (one.fraction if isinstance(one, Shock) else 1)
        for one in weather
        if isinstance(one, (Poisson, Shock))
    ]
    return sum(rates) if rates else RATE


class TrainingFails(Exception):
    """The command fails without any loss; the text is for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """What is done to a training: see `KillSchedule`. `rate` is per hour.

    `seconds` is how long it takes; None: as long as it sleeps.
    """

    schedule: KillSchedule
    rate: float = RATE
    anywhere: bool = False
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class TrainingRehearsal:
    """What was done and seen; `runs` are those with losses, by the number of their first kill."""

    training: Training
    plan: TrainingPlan
    calm: Trained
    runs: tuple[tuple[int, tuple[Cut, ...], Trained], ...]
    evidence: tuple[Evidence, ...]
    unlike: tuple[str, ...]  # files that differ without any loss

    @property
    def most_lives(self) -> bool:
        """Whether a weather would have taken more nodes than is rehearsed."""
        return any(len(run.lives) > cuts.MOST_LIVES for _, _, run in self.runs)

    @property
    def anew(self) -> bool:
        """Whether each run with a loss was begun at the beginning."""
        again = [run.lives[-1] for _, _, run in self.runs if len(run.lives) > 1]
        return bool(again) and all(begins_anew(self.calm, one) for one in again)


class _Rehearsal:
    """The runs of one training, in folders of the stage."""

    def __init__(self, training: Training, stage: Stage, plan: TrainingPlan) -> None:
        self.training, self.stage, self.plan = training, stage, plan
        self.outside: set[str] = set()

    def run(self, name: str, lost: Sequence[Cut] = (), hashes: str = "calm") -> Trained:
        """One run; the files that it has left stay until they were compared."""
        losses = self.plan.schedule
        self.stage.progress(name, 2 + (1 if losses.weather or losses.only else losses.kills))
        seed = int(uniform(f"rehearsal/{losses.seed}/training/{hashes}") * _HASH_SEEDS)
        conditions = Conditions(
            self.stage.interpreter, self.stage.environment, seed, frozenset(self.outside)
        )
        done = train(self.training, conditions, self.stage.folder / "runs" / name, lost)
        for life in done.lives:
            self.outside |= {one.path for one in life.outside}
        return done

    def drop(self, done: Trained) -> None:
        if not self.stage.keep:
            shutil.rmtree(done.kept.parent, ignore_errors=True)

    def same(self, left: Trained, right: Trained, name: str) -> bool:
        """Whether two runs have left the same file, but for the last digits of numbers."""
        if name not in left.files or name not in right.files:
            return False
        if equal_contents(left.files[name], right.files[name]):
            return True
        stage = self.stage
        return left.files[name].lines is None and equal_weights(
            left.kept / name, right.kept / name, stage.interpreter, stage.environment
        )


def rehearse_training(training: Training, stage: Stage, plan: TrainingPlan) -> TrainingRehearsal:
    """Train without a loss, then with the losses of the plan, and compare.

    Raises:
        RehearsalError: it is not known how long the training takes, and a weather has to know.
        TrainingFails: the command fails without a loss.
        TooLate: the time is over.
    """
    rehearsal = _Rehearsal(training, stage, plan)
    first = rehearsal.run("calm")
    life = first.lives[0]
    if life.code:
        said = f"the command fails without any loss (exit code {life.code})"
        raise TrainingFails(f"{said}\n{life.log.rstrip()}")
    calm = CalmTraining(first, rehearsal.run("again", hashes="again"), rehearsal.same)
    found = [*rare(life, plan.seconds, plan.rate), *outside(life)]
    runs = []
    for name, number, lost in _losses(plan, first, training.nodes):
        done = rehearsal.run(name, lost)
        runs.append((number, lost, done))
        settled = frozenset(one.rule.code for one in found)
        found += judge(done, calm, number, halves=lost[0].halves, settled=settled)
        rehearsal.drop(done)
    unlike = sorted(set(calm.results) - set(calm.stable))
    rehearsal.drop(calm.first)
    rehearsal.drop(calm.again)
    return TrainingRehearsal(
        training, plan, first, tuple(runs), first_of_each(found), tuple(unlike)
    )


def _losses(
    plan: TrainingPlan, calm: Trained, nodes: int
) -> Iterator[tuple[str, int, tuple[Cut, ...]]]:
    """The runs with losses: a name, the number of the first loss, all of them."""
    asked = plan.schedule
    if not asked.weather:
        for number, cut in cuts.by_number(
            calm, asked.seed, asked.kills, asked.only, anywhere=plan.anywhere
        ):
            yield f"kill-{number}", number, (cut,)
        return
    found = cuts.by_weather(asked.weather, nodes, asked.seed, _seconds(plan, calm), calm.lives[0])
    if asked.only is not None:
        found = [one for one in found if one[0] == asked.only]
    if found:
        yield "weather", found[0][0], tuple(cut for _, cut in found)


def _seconds(plan: TrainingPlan, calm: Trained) -> float:
    """How long the training takes, in virtual seconds."""
    life = calm.lives[0]
    if plan.seconds is not None:
        return plan.seconds
    if life.slept < _SLEPT * life.seconds:
        raise RehearsalError(
            "how long the training takes is not known, and a weather needs it: say --steps N"
        )
    return life.slept


def equal_contents(left: Content, right: Content) -> bool:
    """Whether two files are the same; numbers in text by a tolerance."""
    if left == right:
        return True
    if left.lines is None or right.lines is None or len(left.lines) != len(right.lines):
        return False
    return all(map(_equal_lines, left.lines, right.lines))


def _equal_lines(left: str, right: str) -> bool:
    if _NUMBER.sub("#", left) != _NUMBER.sub("#", right):
        return False
    return all(
        isclose(float(number), float(other), rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
        for number, other in zip(_NUMBER.findall(left), _NUMBER.findall(right), strict=True)
    )


def equal_weights(
    left: Path, right: Path, interpreter: Interpreter, environment: Mapping[str, str]
) -> bool:
    """Whether two files hold the same weights by a tolerance, as the user's Python reads them.

    Files that it cannot read are not the same.
    """
    with suppress(OSError, subprocess.TimeoutExpired, ValueError):
        arguments = [str(left), str(right)]
        answer = interpreter.ask(_WEIGHTS, arguments, environment, _WEIGHTS_TIMEOUT)
        return json.loads(answer or b"false") is True
    return False
