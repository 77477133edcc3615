"""A rehearsal of a batch deployment: calm runs, runs with losses, and what they show."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mlctl.rehearsal import losses as when
from mlctl.rehearsal import rules
from mlctl.rehearsal.evidence import Evidence, once
from mlctl.rehearsal.inputs import Inputs, MiniBatches, mini_batches
from mlctl.rehearsal.losses import Loss
from mlctl.rehearsal.outcome import Failure, Outcome, Place, Span
from mlctl.rehearsal.process import Interpreter
from mlctl.rehearsal.scoring import judge_calm as without
from mlctl.rehearsal.scoring import judge_losses as lossy
from mlctl.rehearsal.scoring.deployment import APPEND_ROW, Deployment
from mlctl.rehearsal.scoring.judge_calm import Calm
from mlctl.rehearsal.scoring.lines import Script
from mlctl.rehearsal.scoring.run import Known, Order, Run, ScriptFails
from mlctl.simulator.engine.processes import PreemptionProcess
from mlctl.simulator.engine.rng import generator

_NO_ERRORS = ("Timeout", "Ended")  # of failures: those that no call has raised


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Which losses there are: `kills` of one each, or by `weather`, all in one run.

    `only` is the number of the kill that is repeated alone.
    """

    seed: int = 0
    kills: int = 10
    weather: tuple[PreemptionProcess, ...] = ()
    only: int | None = None


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What was done and seen; `runs` are those with losses, in their order."""

    deployment: Deployment
    inputs: Inputs
    plan: Plan
    first: Outcome
    runs: tuple[Outcome, ...]
    evidence: tuple[Evidence, ...]
    mini_batches: MiniBatches

    @property
    def kills(self) -> int:
        """How many nodes were lost in all."""
        return sum(len(one.kills) for one in self.runs)


@dataclass(frozen=True, slots=True)
class Stage:
    """Where and by what a rehearsal runs.

    `progress` is told the name of each run, and how many there are; `on_event` what each slot did.
    """

    interpreter: Interpreter
    folder: Path
    environment: Mapping[str, str]
    keep: bool = False
    progress: Callable[[str, int], None] = lambda _name, _total: None
    on_event: Callable[[Span], None] = lambda _: None

    def run(self, deployment: Deployment, order: Order, name: str, total: int) -> Outcome:
        """One run in a folder of its own.

        Raises:
            ScriptFails: the script cannot be used.
            TooLate: the time is over.
        """
        self.progress(name, total)
        folder = self.folder / "runs" / name
        run = Run(deployment, order, self.interpreter, folder, self.environment, self.on_event)
        outcome = run.go()
        if deployment.output_action == APPEND_ROW:
            _append_rows(outcome, deployment)
        if not self.keep:
            shutil.rmtree(folder, ignore_errors=True)
        return outcome


def rehearse(deployment: Deployment, inputs: Inputs, plan: Plan, stage: Stage) -> Rehearsal:
    """Run the deployment without and with losses, and compare.

    Raises:
        ScriptFails: the script cannot be imported, or its `init` fails.
        TooLate: the time is over.
    """
    batches = inputs.mini_batches(deployment.mini_batch_size)
    order = Order(
        key=f"{plan.seed}/first", inputs=inputs, mini_batches=batches, order=range(len(batches))
    )
    script = Script.read(
        deployment.script, deployment.script.relative_to(deployment.code).as_posix()
    )
    planned = (4 if inputs.tabular else 5) + (1 if plan.weather or plan.only else plan.kills)
    calm = _calm(deployment, order, plan.seed, stage, planned)
    _check_stand_ins(calm)
    found = list(without.judge(calm, deployment, script))
    if not inputs.tabular:
        found += _swallowed(deployment, order, stage, planned)
    runs = []
    if calm.first.scored:
        known = _known(calm)
        for name, losses in _losses(plan, deployment, len(batches), bool(calm.first.files)):
            again = replace(order, key=f"{plan.seed}/{name}", losses=losses, known=known)
            outcome = stage.run(deployment, again, name, planned)
            runs.append(outcome)
            settled = frozenset(one.rule.code for one in found)
            found += lossy.judge(outcome, calm, script, settled)
    return Rehearsal(deployment, inputs, plan, calm.first, tuple(runs), tuple(once(found)), batches)


def _calm(deployment: Deployment, order: Order, seed: int, stage: Stage, total: int) -> Calm:
    alone = replace(deployment, nodes=1, slots=1)
    first = stage.run(deployment, order, "calm", total)
    again = replace(order, key=f"{seed}/again", trace=True)
    backwards = replace(order, key=f"{seed}/reversed", order=tuple(reversed(order.order)))
    shuffled = list(order.inputs.names)
    generator(f"rehearsal/{seed}/shuffle").shuffle(shuffled)
    mixed = order.inputs.groups or mini_batches(shuffled, max(1, deployment.mini_batch_size // 2))
    recomposed = replace(
        order, key=f"{seed}/recomposed", mini_batches=mixed, order=range(len(mixed))
    )
    return Calm(
        first,
        stage.run(deployment, again, "again", total),
        stage.run(alone, backwards, "reversed", total),
        stage.run(deployment, recomposed, "recomposed", total),
        order.inputs,
        order.mini_batches,
    )


def _check_stand_ins(calm: Calm) -> None:
    """An error that nothing but a stand-in may have made is no finding.

    Raises:
        ScriptFails: there is one, whether the script lets it go or takes it.
    """
    packages = frozenset(calm.first.stand_ins)
    if not packages:
        return
    for failure in calm.first.failures:
        if failure.type not in _NO_ERRORS:
            raise ScriptFails(failure, packages)
    for number, one in calm.again.scored.items():
        if one.caught and (one.length or 0) < calm.inputs.elements(calm.mini_batches[number]):
            type_, message, place = one.caught[-1]
            raise ScriptFails(Failure(number, 1, type_, message, None, place, ""), packages)


def _known(calm: Calm) -> Known:
    """Where kills can be: by the traced run, and by what a mini-batch adds to a file."""
    sizes = []
    for name, content in calm.first.files.items():
        writers = {
            one.mini_batch for one in calm.first.writes if calm.first.within(one.path) == name
        }
        sizes.append(content.size // max(1, len(writers)))
    smallest = min((one for one in sizes if one > 1), default=0)
    return Known(calm.again.events, calm.again.init_events, smallest)


def _losses(
    plan: Plan,
    deployment: Deployment,
    total: int,
    writes: bool,  # noqa: FBT001
) -> list[tuple[str, Sequence[Loss]]]:
    """The runs with losses: a name and the losses of each."""
    places = when.slots(deployment.nodes, deployment.slots)
    if plan.weather:
        losses = when.by_weather(plan.weather, deployment.nodes, plan.seed)
        if plan.only is not None:
            losses = [one for one in losses if one.number == plan.only]
        return [("weather", losses)]
    count = max(plan.kills, plan.only or 0)
    losses = when.plan(count, places, total, plan.seed, writes=writes)
    return [(f"kill-{one.number}", [one]) for one in losses if plan.only in (None, one.number)]


def _swallowed(deployment: Deployment, order: Order, stage: Stage, total: int) -> list[Evidence]:
    """What `run` says of an input that is not there: the first mini-batch, its first file gone."""
    names = order.mini_batches[0]
    missing = (f"{names[0]}.missing", *names[1:])
    spoilt = replace(
        order, key=f"{order.key}/spoilt", mini_batches=(missing,), order=(0,), trace=True
    )
    alone = replace(deployment, nodes=1, slots=1, tries=1, error_threshold=-1)
    outcome = stage.run(alone, spoilt, "spoilt", total)
    scored = outcome.scored.get(0)
    if scored is None or not scored.caught or (scored.length or 0) < len(names):
        return []
    type_, _, place = scored.caught[-1]
    why = f"an input that is not there counts as succeeded: {type_} is caught here"
    return [Evidence(rules.SWALLOWED, why, Place(place.file, place.line))]


def _append_rows(outcome: Outcome, deployment: Deployment) -> None:
    """The file that the service makes of all rows, in the order of the mini-batches."""
    rows = [row for one in sorted(outcome.scored) for row in outcome.scored[one].rows]
    text = "".join(f"{row}\n" for row in rows)
    (outcome.output / deployment.output_file_name).write_text(text, encoding="utf-8")
