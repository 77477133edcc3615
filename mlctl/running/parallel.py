"""Run a parallel step: mini-batches of its input, scored by the workers of rehearsals."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from mlctl.dataclasses import replace
from mlctl.kinds.expressions import only
from mlctl.pointer import Data
from mlctl.rehearsal import tables
from mlctl.rehearsal.inputs import Inputs, RehearsalError
from mlctl.rehearsal.process import TooLate
from mlctl.rehearsal.scoring import parallel as steps
from mlctl.rehearsal.scoring.deployment import APPEND_ROW, Deployment
from mlctl.rehearsal.scoring.outcome import RehearsalOutcome, Status
from mlctl.rehearsal.scoring.parallel import ParallelStep
from mlctl.rehearsal.scoring.run import RunOrder, ScoringRun, ScriptFails
from mlctl.running import commands
from mlctl.running.commands import Conditions
from mlctl.running.model import NodeResult, RunError, RunNode, RunStatus


def run(
    node: RunNode, values: Mapping[str, str], folder: Path, conditions: Conditions, at_once: int
) -> NodeResult:
    """Score the input of a parallel step; its rows go where `append_row_to` says.

    Raises:
        RunError: it has no script or no input of its own, or its input cannot be read.
    """
    step = node.parallel
    assert step is not None
    try:
        deployment = _deployment(node, values, folder, at_once)
        inputs = _inputs(node, deployment, values, folder, conditions)
        outcome = score(deployment, inputs, folder / "scoring", conditions)
    except RehearsalError as error:
        raise RunError(f"{node.where}: {error}") from None
    target = only(str(_task(step).get("append_row_to") or ""))
    if target is not None and target.path[-1] in node.outputs:
        place = folder / "outputs" / target.path[-1]
        outcome.append_rows(place / APPEND_ROW if place.is_dir() else place)
    log = "\n".join(failure.text or failure.message for failure in outcome.failures)
    (folder / "log.txt").write_text(log, encoding="utf-8", errors="backslashreplace")
    if outcome.status is not Status.COMPLETED:
        return NodeResult(RunStatus.FAILED, folder, why="too many mini-batches failed")
    return NodeResult(RunStatus.COMPLETED, folder)


def score(
    deployment: Deployment, inputs: Inputs, folder: Path, conditions: Conditions
) -> RehearsalOutcome:
    """Score every mini-batch once, in order, on the slots of a deployment.

    Raises:
        RunError: the script cannot be used.
    """
    mini_batches = inputs.mini_batches(deployment.mini_batch_size)
    order = RunOrder(
        key="run", inputs=inputs, mini_batches=mini_batches, order=range(len(mini_batches))
    )
    run = ScoringRun(deployment, order, conditions.interpreter, folder, conditions.environment)
    try:
        return run.run()
    except ScriptFails as error:
        failure = error.failure
        (folder.parent / "log.txt").write_text(failure.text or failure.message, encoding="utf-8")
        raise RunError(f"init failed: {failure.type}: {failure.message}") from None
    except TooLate:
        raise RunError("it took too long") from None


def _deployment(node: RunNode, values: Mapping[str, str], folder: Path, at_once: int) -> Deployment:
    step = node.parallel
    assert step is not None
    arguments = str(_task(step).get("program_arguments") or "")
    bound = commands.bind(arguments, {**values, **commands.output_places(node, folder)})
    plain = steps.deployment(step, arguments=tuple(shlex.split(bound)))
    workers = max(1, min(at_once, plain.nodes * plain.slots))
    return replace(plain, nodes=1, slots=workers)


def _inputs(
    node: RunNode,
    deployment: Deployment,
    values: Mapping[str, str],
    folder: Path,
    conditions: Conditions,
) -> Inputs:
    """Return the input that is split."""
    name = next((name for name in node.inputs if node.splits(name)), None)
    if name is None:
        raise RunError(f"{node.where}: `input_data` names no input of the step")
    path = Path(shlex.split(values[f"inputs.{name}"])[0])
    if not deployment.tabular:
        return Inputs.find(path)
    return tables.load(
        tables.find(path),
        deployment.partition_keys,
        conditions.interpreter,
        folder / "table",
        conditions.environment,
    )


def _task(step: ParallelStep) -> Mapping[str, Data]:
    task = step.setting("task")
    return task if isinstance(task, dict) else {}
