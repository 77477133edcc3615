"""`mlctl rehearse`: the user's own code on nodes that are lost, here."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mlctl import files
from mlctl.cli.rehearse.options import KillArgs, PathArgs, RunArgs, TrainingArgs, command_words
from mlctl.cli.rehearse.stage import Output, RehearsalFormat, stage
from mlctl.cli.shell import Exit, InvalidValue, Session, argument, flag
from mlctl.cli.shell.rule_choice import new_report
from mlctl.dataclasses import replace
from mlctl.service_errors import Permanent

if TYPE_CHECKING:
    from mlctl.rehearsal.inputs import Inputs
    from mlctl.rehearsal.scoring.deployment import Deployment
    from mlctl.rehearsal.scoring.run import ScriptFails
    from mlctl.rehearsal.stage import KillSchedule, Stage
    from mlctl.rehearsal.training.model import Training
    from mlctl.rehearsal.training.rehearsal import TrainingPlan


def rehearse_scoring(
    deployment: Deployment,
    schedule: KillSchedule,
    subject: PathArgs,
    runs: RunArgs,
    output: Output,
    *,
    alone: bool,
) -> Exit:
    """Rehearse a deployment, or a script `alone`, and write the result.

    Raises:
        RehearsalError: there are no inputs, or they cannot be read.
    """
    if subject.input is None:
        raise InvalidValue("a scoring script needs inputs", flag="--input")
    path = Path(subject.input)
    deployment = _with_flags(deployment, path, subject, stub=runs.stub)
    with stage(output.session, runs) as stage_:
        inputs = _read_inputs(deployment, path, stage_)
        deployment = _with_sizes(output.session, deployment, runs.nodes, inputs, alone=alone)
        return _run_scoring(deployment, inputs, schedule, stage_, output)


def _with_flags(deployment: Deployment, path: Path, subject: PathArgs, *, stub: bool) -> Deployment:
    """Return a deployment with the flags over its YAML."""
    from mlctl.rehearsal import tables
    from mlctl.rehearsal.inputs import RehearsalError

    arguments = deployment.arguments
    if subject.arguments is not None:
        try:
            arguments = (*arguments, *shlex.split(subject.arguments))
        except ValueError as error:
            why = f"{error}: `{subject.arguments}`"
            raise InvalidValue(why, flag="--arguments") from None
    model = deployment.model
    if subject.model is not None:
        model = files.real(subject.model)
        if not (files.is_file(model) or files.is_folder(model)):
            raise InvalidValue(f"there is no model `{subject.model}`", flag="--model")
    tabular = deployment.tabular or subject.tabular or tables.is_table(path)
    if deployment.partition_keys and not tabular:
        raise RehearsalError("`partition_keys` need rows: use --tabular, or an MLTable")
    slots = subject.workers or deployment.slots
    return replace(
        deployment, arguments=arguments, model=model, tabular=tabular, stand_ins=stub, slots=slots
    )


def _read_inputs(deployment: Deployment, path: Path, stage: Stage) -> Inputs:
    """Read the inputs: files, or rows that the user's Python reads from them."""
    from mlctl.rehearsal import tables
    from mlctl.rehearsal.inputs import Inputs

    if not deployment.tabular:
        return Inputs.find(path)
    folder, keys = stage.folder / "table", deployment.partition_keys
    return tables.load(tables.find(path), keys, stage.interpreter, folder, stage.environment)


def _with_sizes(
    session: Session, deployment: Deployment, nodes: int | None, inputs: Inputs, *, alone: bool
) -> Deployment:
    """Set the number of nodes so that a loss leaves some, and the size of mini-batches.

    A script alone gets mini-batches small enough for all workers to have some.
    """
    if nodes is None and deployment.nodes == 1:
        session.note("note: a job on one node is cancelled when it is lost; rehearsed with 2")
    deployment = replace(deployment, nodes=nodes or max(2, deployment.nodes))
    fair = max(1, len(inputs.names) // (2 * deployment.workers))
    size = deployment.mini_batch_size
    if inputs.tabular:
        table_bytes = deployment.mini_batch_bytes
        size = fair if table_bytes is None else inputs.rows_of(table_bytes)
    elif alone:
        size = min(size, fair)
    return replace(deployment, mini_batch_size=size)


def _run_scoring(
    deployment: Deployment, inputs: Inputs, schedule: KillSchedule, here: Stage, output: Output
) -> Exit:
    from mlctl.rehearsal.scoring import rehearsal as scoring
    from mlctl.rehearsal.scoring.run import ScriptFails
    from mlctl.render.rehearsal import page, report

    try:
        with output.watch(here) as watch:
            rehearsal = scoring.rehearse(deployment, inputs, schedule, watch)
    except ScriptFails as error:
        raise Permanent("ScriptFails", _explain_script(error, deployment)) from None
    return output.conclude(
        rehearsal,
        deployment.code,
        report.summary,
        {
            "json": lambda findings, _: report.as_json(rehearsal, findings),
            "junit": lambda *_: report.as_junit(rehearsal),
            "html": lambda _, text: page.scoring(rehearsal, text, output.again),
        },
    )


def _explain_script(error: ScriptFails, deployment: Deployment) -> str:
    """Return the error, and the traceback below it, with the user's own paths."""
    from mlctl.rehearsal.documents import MLFLOW_DRIVER

    failure = error.failure
    code = os.path.relpath(deployment.code)
    at = os.path.relpath(deployment.script)
    if failure.place is not None:
        at = f"{os.path.normpath(f'{code}/{failure.place.file}')}:{failure.place.line}"
    if failure.type == "ModuleNotFoundError" and deployment.script.name == MLFLOW_DRIVER:
        return (
            f"the model has no script, and this Python cannot load it: {failure.message};"
            " --python names one that can, and --stub answers in its place"
        )
    if failure.type == "ModuleNotFoundError":
        text = (
            f"{at}: {failure.message}; use --python with one that has it, or --stub to do without"
        )
    elif error.stand_ins:
        text = (
            f"{at}: {failure.type}: {failure.message}; it may ask too much of the stand-ins for"
            f" {', '.join(sorted(error.stand_ins))}: use --python with one that has it"
        )
    else:
        text = f"{at}: the script cannot be used: {failure.type}: {failure.message}"
    trace = re.sub(r'"[^"]*/nodes/\d+-\d+/code/', f'"{code}/', failure.text).rstrip()
    return f"{text}\n{trace}" if trace else text


def rehearse_training(
    training: Training, schedule: KillSchedule, runs: RunArgs, args: TrainingArgs, output: Output
) -> Exit:
    """Rehearse a training job, and write the result.

    Raises:
        RehearsalError: the training cannot be so, or a weather does not know how long it is.
    """
    from mlctl.rehearsal.training.job import with_nodes, with_steps
    from mlctl.rehearsal.training.rehearsal import TrainingPlan, rate_of

    if args.kill_at_any_time and schedule.weather:
        raise InvalidValue("a weather decides when nodes are lost", flag="--kill-at-any-time")
    training = with_nodes(training, runs.nodes)
    if args.steps is not None:
        training = with_steps(training, args.steps)
    plan = TrainingPlan(
        schedule=schedule,
        rate=rate_of(schedule.weather),
        anywhere=args.kill_at_any_time,
        seconds=args.seconds,
    )
    with stage(output.session, runs) as stage_:
        return _run_training(training, plan, stage_, output)


def _run_training(training: Training, plan: TrainingPlan, here: Stage, output: Output) -> Exit:
    from mlctl.rehearsal.training.rehearsal import TrainingFails, rehearse_training
    from mlctl.render.rehearsal import page, report

    try:
        rehearsal = rehearse_training(training, here, plan)
    except TrainingFails as error:
        raise Permanent("TrainingFails", _fails(str(error), training.code)) from None
    return output.conclude(
        rehearsal,
        training.code,
        report.training_summary,
        {
            "json": lambda findings, _: report.training_json(rehearsal, findings),
            "junit": lambda *_: report.training_junit(rehearsal),
            "html": lambda _, text: page.training(rehearsal, text, output.again),
        },
    )


def _fails(text: str, code: Path) -> str:
    """Return the output of the command, with the user's own paths."""
    text = re.sub(r'"[^"]*/nodes/\d+-\d+/code/', f'"{os.path.relpath(code)}/', text)
    if "ModuleNotFoundError" in text:
        text = text.replace(")\n", "); use --python with one that has its imports\n", 1)
    return text


def rehearse(
    session: Session,
    path: Annotated[str, argument(metavar="PATH")],
    subject: PathArgs,
    kills: KillArgs,
    runs: RunArgs,
    training: TrainingArgs,
    output: RehearsalFormat = flag("-o", default="human"),
) -> Exit:
    """Test a scoring or training script against node losses, on this machine."""
    from mlctl.rehearsal.inputs import RehearsalError
    from mlctl.rehearsal.training.model import Training

    schedule = kills.schedule()
    words = command_words(path, subject, kills, runs, training)
    to = Output(session, output, words, runs.strict)
    try:
        code = _code(session, path, subject, runs)
        if isinstance(code, Training):
            if subject.workers is not None:
                why = "`distribution` sets the number of processes of a training job"
                raise InvalidValue(why, flag="--workers")
            return rehearse_training(code, schedule, runs, training, to)
        training.refuse()
        alone = Path(path).suffix == ".py"
        return rehearse_scoring(code, schedule, subject, runs, to, alone=alone)
    except RehearsalError as error:
        raise Permanent("NoRehearsal", str(error)) from None


def _code(session: Session, path: str, subject: PathArgs, runs: RunArgs) -> Deployment | Training:
    """Return the deployment or training job that PATH names."""
    from mlctl.rehearsal.documents import from_documents
    from mlctl.rehearsal.inputs import RehearsalError
    from mlctl.rehearsal.scoring.deployment import Deployment
    from mlctl.rehearsal.scoring.lines import Script
    from mlctl.rehearsal.training.job import from_script

    file = Path(path)
    if file.suffix != ".py":
        loaded = session.loader(new_report(session), scripts=False).load([path])
        inputs = None if subject.input is None else Path(subject.input)
        return from_documents(path, loaded, subject.deployment, inputs, runs.nodes, stub=runs.stub)
    if not files.is_file(file):
        raise RehearsalError(f"there is no script `{path}`")
    real = files.real(file)
    script = Script.read(real, path)
    if script.scores and (script.tree is not None or subject.input is not None):
        return Deployment(real, real.parent)
    if subject.input is not None:
        raise RehearsalError(
            f"`{path}` has no `run(mini_batch)`, so it is a training script, whose inputs are "
            "named in a job.yml"
        )
    return from_script(real)


COMMANDS = {"rehearse": rehearse}
