"""Rehearse a batch deployment, from flags to output."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mlctl import files
from mlctl.cli.rehearse.options import CodeArgs, RunArgs
from mlctl.cli.rehearse.stage import Output, stage
from mlctl.cli.shell import Exit, InvalidValue, Session
from mlctl.service_errors import Permanent

if TYPE_CHECKING:
    from mlctl.rehearsal.inputs import Inputs
    from mlctl.rehearsal.scoring.deployment import Deployment
    from mlctl.rehearsal.scoring.run import ScriptFails
    from mlctl.rehearsal.stage import KillSchedule, Stage


def rehearse(
    deployment: Deployment,
    schedule: KillSchedule,
    subject: CodeArgs,
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
        return _rehearse(deployment, inputs, schedule, stage_, output)


def _with_flags(deployment: Deployment, path: Path, subject: CodeArgs, *, stub: bool) -> Deployment:
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
        deployment,
        arguments=arguments,
        model=model,
        tabular=tabular,
        stand_ins=stub,
        slots=slots,
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


def _rehearse(
    deployment: Deployment, inputs: Inputs, schedule: KillSchedule, here: Stage, output: Output
) -> Exit:
    from mlctl.rehearsal.scoring import rehearsal as scoring
    from mlctl.rehearsal.scoring.run import ScriptFails
    from mlctl.render.rehearsal import page, report

    try:
        with output.watch(here) as watch:
            rehearsal = scoring.rehearse(deployment, inputs, schedule, watch)
    except ScriptFails as error:
        raise Permanent("ScriptFails", _fails(error, deployment)) from None
    return output.conclude(
        rehearsal,
        deployment.code,
        report.summary,
        {
            "json": lambda findings, _: report.as_json(rehearsal, findings),
            "junit": lambda *_: report.as_junit(rehearsal, rehearsal.evidence),
            "html": lambda _, text: page.scoring(rehearsal, text, output.again),
        },
    )


def _fails(error: ScriptFails, deployment: Deployment) -> str:
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
