"""A rehearsal of a batch deployment: calm runs, runs with losses, and what they show."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from mlctl.dataclasses import dataclass, replace
from mlctl.rehearsal import losses, rules
from mlctl.rehearsal.evidence import CodeLine, Evidence, first_of_each
from mlctl.rehearsal.inputs import Inputs, MiniBatches, mini_batches
from mlctl.rehearsal.losses import Loss
from mlctl.rehearsal.process import TooLate
from mlctl.rehearsal.scoring import judge_calm, judge_losses
from mlctl.rehearsal.scoring.deployment import APPEND_ROW, Deployment
from mlctl.rehearsal.scoring.judge_calm import CalmScoring
from mlctl.rehearsal.scoring.lines import Script
from mlctl.rehearsal.scoring.outcome import Failure, RehearsalOutcome
from mlctl.rehearsal.scoring.run import KillTargets, RunOrder, ScoringRun, ScriptFails
from mlctl.rehearsal.stage import KillSchedule, Stage
from mlctl.simulator.engine.rng import generator

_NO_ERRORS = ("Timeout", "Ended")  # of failures: those that no call has raised


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The result of a rehearsal; `runs` are those with losses, in order."""

    deployment: Deployment
    inputs: Inputs
    plan: KillSchedule
    first: RehearsalOutcome
    runs: tuple[RehearsalOutcome, ...]
    evidence: tuple[Evidence, ...]
    mini_batches: MiniBatches
    stopped: BaseException | None = None  # why it ended before its last kill


def rehearse(deployment: Deployment, inputs: Inputs, plan: KillSchedule, stage: Stage) -> Rehearsal:
    """Run the deployment without and with losses, and compare.

    If time runs out or the user presses Ctrl-C, the results of the first kills are returned.

    Raises:
        ScriptFails: the script cannot be imported, or its `init` fails.
    """
    batches = inputs.mini_batches(deployment.mini_batch_size)
    order = RunOrder(
        key=f"{plan.seed}/first", inputs=inputs, mini_batches=batches, order=range(len(batches))
    )
    script = Script.read(
        deployment.script, deployment.script.relative_to(deployment.code).as_posix()
    )
    total = (4 if inputs.tabular else 5) + (1 if plan.weather or plan.only else plan.kills)
    calm = _calm(deployment, order, plan.seed, stage, total)
    _check_stand_ins(calm)
    evidence = list(judge_calm.judge(calm, deployment, script))
    if not inputs.tabular:
        evidence += _swallowed(deployment, order, stage, total)
    runs: list[RehearsalOutcome] = []
    stopped = None
    targets = _kill_targets(calm)
    writes = bool(calm.first.files)
    lossy_runs = _losses(plan, deployment, len(batches), writes=writes)
    try:
        for name, node_losses in lossy_runs if calm.first.scored else ():
            lossy = replace(order, key=f"{plan.seed}/{name}", losses=node_losses, targets=targets)
            outcome = _run(stage, deployment, lossy, name, total)
            runs.append(outcome)
            settled = frozenset(item.rule.code for item in evidence)
            evidence += judge_losses.judge(outcome, calm, script, settled)
    except (KeyboardInterrupt, TooLate) as error:
        stopped = error
    return Rehearsal(
        deployment=deployment,
        inputs=inputs,
        plan=plan,
        first=calm.first,
        runs=tuple(runs),
        evidence=first_of_each(evidence),
        mini_batches=batches,
        stopped=stopped,
    )


def _run(
    stage: Stage, deployment: Deployment, order: RunOrder, name: str, total: int
) -> RehearsalOutcome:
    """Run once in a new folder."""
    stage.progress(name, total)
    folder = stage.folder / "runs" / name
    scoring = ScoringRun(
        deployment, order, stage.interpreter, folder, stage.environment, stage.on_event
    )
    outcome = scoring.run()
    if deployment.output_action == APPEND_ROW:
        outcome.append_rows(outcome.output / deployment.output_file_name)
    if not stage.keep:
        shutil.rmtree(folder, ignore_errors=True)
    return outcome


def _calm(
    deployment: Deployment, order: RunOrder, seed: int, stage: Stage, total: int
) -> CalmScoring:
    alone = replace(deployment, nodes=1, slots=1)
    first = _run(stage, deployment, order, "calm", total)
    again = replace(order, key=f"{seed}/again", trace=True)
    backwards = replace(order, key=f"{seed}/reversed", order=tuple(reversed(order.order)))
    shuffled = list(order.inputs.names)
    generator(f"rehearsal/{seed}/shuffle").shuffle(shuffled)
    mixed = order.inputs.groups or mini_batches(shuffled, max(1, deployment.mini_batch_size // 2))
    recomposed = replace(
        order, key=f"{seed}/recomposed", mini_batches=mixed, order=range(len(mixed))
    )
    return CalmScoring(
        first=first,
        again=_run(stage, deployment, again, "again", total),
        reversed=_run(stage, alone, backwards, "reversed", total),
        recomposed=_run(stage, deployment, recomposed, "recomposed", total),
        inputs=order.inputs,
        mini_batches=order.mini_batches,
    )


def _check_stand_ins(calm: CalmScoring) -> None:
    """Refuse errors that only a stand-in may have caused: they are not findings."""
    packages = frozenset(calm.first.stand_ins)
    if not packages:
        return
    for failure in calm.first.failures:
        if failure.type not in _NO_ERRORS:
            raise ScriptFails(failure, packages)
    for number, scored in calm.again.scored.items():
        if scored.caught and (scored.length or 0) < calm.inputs.elements(calm.mini_batches[number]):
            type_, message, place = scored.caught[-1]
            raise ScriptFails(Failure(number, type_, message, None, place, ""), packages)


def _kill_targets(calm: CalmScoring) -> KillTargets:
    """Return where kills can be: by the traced run, and by what a mini-batch adds to a file."""
    sizes = []
    for name, content in calm.first.files.items():
        writers = {
            write.mini_batch for write in calm.first.writes if calm.first.within(write.path) == name
        }
        sizes.append(content.size // max(1, len(writers)))
    smallest = min((size for size in sizes if size > 1), default=0)
    return KillTargets(calm.again.events, calm.again.init_events, smallest)


def _losses(
    plan: KillSchedule, deployment: Deployment, total: int, *, writes: bool
) -> list[tuple[str, Sequence[Loss]]]:
    """Return the runs with losses: a name, and the losses."""
    if plan.weather:
        by_weather = losses.by_weather(plan.weather, deployment.nodes, plan.seed)
        if plan.only is not None:
            by_weather = [loss for loss in by_weather if loss.number == plan.only]
        return [("weather", by_weather)]
    slots = losses.slots(deployment.nodes, deployment.slots)
    count = max(plan.kills, plan.only or 0)
    kills = losses.schedule(count, slots, total, plan.seed, writes=writes)
    return [(f"kill-{kill.number}", [kill]) for kill in kills if plan.only in (None, kill.number)]


def _swallowed(deployment: Deployment, order: RunOrder, stage: Stage, total: int) -> list[Evidence]:
    """Check what `run` does if the first file of the first mini-batch is missing."""
    names = order.mini_batches[0]
    missing = (f"{names[0]}.missing", *names[1:])
    spoilt = replace(
        order, key=f"{order.key}/spoilt", mini_batches=(missing,), order=(0,), trace=True
    )
    alone = replace(deployment, nodes=1, slots=1, tries=1, error_threshold=-1)
    outcome = _run(stage, alone, spoilt, "spoilt", total)
    scored = outcome.scored.get(0)
    if scored is None or not scored.caught or (scored.length or 0) < len(names):
        return []
    type_, _, place = scored.caught[-1]
    why = f"a missing input counts as succeeded: {type_} is caught here"
    return [Evidence(rules.SWALLOWED, why, CodeLine(place.file, place.line))]
