"""A rehearsal of a batch deployment, from flags to words."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mlctl import files
from mlctl.cli.parser.arguments import InvalidValue
from mlctl.cli.rehearse.output import Output, RehearsalFormat
from mlctl.cli.shell.exits import Exit
from mlctl.cli.shell.session import Session
from mlctl.diagnostics import Report
from mlctl.service_errors import Permanent

if TYPE_CHECKING:
    from mlctl.rehearsal.inputs import Inputs
    from mlctl.rehearsal.scoring.deployment import Deployment
    from mlctl.rehearsal.scoring.run import ScriptFails
    from mlctl.rehearsal.stage import KillSchedule, Stage


def told(
    found: Deployment,
    path: Path,
    arguments: str | None,
    model: Path | None,
    *,
    tabular: bool,
    stub: bool,
) -> Deployment:
    """A deployment with what the flags say beside its YAML.

    Raises:
        InvalidValue: the arguments cannot be told apart, or there is no such model.
        RehearsalError: it makes mini-batches by keys, which files do not have.
    """
    from mlctl.rehearsal import tables
    from mlctl.rehearsal.inputs import RehearsalError

    if arguments is not None:
        try:
            found = replace(found, arguments=(*found.arguments, *shlex.split(arguments)))
        except ValueError as error:
            raise InvalidValue(f"{error}: `{arguments}`", flag="--arguments") from None
    if model is not None:
        real = files.real(model)
        if not (files.is_file(real) or files.is_folder(real)):
            raise InvalidValue(f"there is no model `{model}`", flag="--model")
        found = replace(found, model=real)
    tabular = found.tabular or tabular or tables.is_table(path)
    found = replace(found, tabular=tabular, stand_ins=stub)
    if found.partition_keys and not found.tabular:
        raise RehearsalError("`partition_keys` are of rows here: --tabular, or an MLTable")
    return found


def inputs(deployment: Deployment, path: Path, stage: Stage) -> Inputs:
    """What is scored: files, or the rows that the user's Python reads of them.

    Raises:
        RehearsalError: there are none, or they cannot be read.
    """
    from mlctl.rehearsal import tables
    from mlctl.rehearsal.inputs import Inputs

    if not deployment.tabular:
        return Inputs.find(path)
    to = stage.folder / "table"
    keys = deployment.partition_keys
    return tables.load(tables.find(path), keys, stage.interpreter, to, stage.environment)


def sized(
    session: Session, found: Deployment, nodes: int | None, inputs: Inputs, *, alone: bool
) -> Deployment:
    """A deployment with as many nodes as a loss leaves some of, and its size of mini-batches.

    A script alone gets mini-batches that all workers have some of.
    """
    if nodes is None and found.nodes == 1:
        session.note("note: a job on one node is cancelled when it is lost; rehearsed with 2")
    found = replace(found, nodes=nodes or max(2, found.nodes))
    size, fair = found.mini_batch_size, max(1, len(inputs.names) // (2 * found.workers))
    if inputs.tabular:
        known = found.mini_batch_bytes
        size = fair if known is None else inputs.rows_of(known)
    elif alone:
        size = min(size, fair)
    return replace(found, mini_batch_size=size)


def rehearse(
    deployment: Deployment, inputs: Inputs, plan: KillSchedule, stage: Stage, output: Output
) -> Exit:
    """Rehearse a deployment, and write what came of it.

    Raises:
        Permanent: the script cannot be used without any loss, or takes too long.
    """
    from mlctl.rehearsal.process import TooLate
    from mlctl.rehearsal.scoring.rehearsal import rehearse as go
    from mlctl.rehearsal.scoring.run import ScriptFails
    from mlctl.render.rehearsal import page as rehearsal_page
    from mlctl.render.rehearsal import report as render

    try:
        with output.watched(stage) as seen:
            done = go(deployment, inputs, plan, seen)
    except ScriptFails as error:
        raise Permanent("ScriptFails", _fails(error, deployment)) from None
    except TooLate:
        raise Permanent("TooLate", "the rehearsal took too long; --timeout gives it more") from None
    report = Report()
    code = Path(os.path.relpath(deployment.code))
    report.extend(render.findings(done.evidence, code, output.again))
    summary = render.summary(done, report)
    return output.write(
        report,
        {
            RehearsalFormat.JSON: lambda: render.as_json(done, report),
            RehearsalFormat.JUNIT: lambda: render.as_junit(done, done.evidence),
            RehearsalFormat.HTML: lambda: rehearsal_page.scoring(done, summary, output.again),
        },
        summary,
    )


def _fails(error: ScriptFails, deployment: Deployment) -> str:
    """A sentence, and the traceback below it, with the user's own paths."""
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
        text = f"{at}: {failure.message}; --python names a Python that has it, --stub does without"
    elif error.stand_ins:
        text = (
            f"{at}: {failure.type}: {failure.message}; it may ask too much of what stands in for"
            f" {', '.join(sorted(error.stand_ins))}: --python names a Python that has it"
        )
    else:
        text = f"{at}: the script cannot be used: {failure.type}: {failure.message}"
    trace = re.sub(r'"[^"]*/nodes/\d+-\d+/code/', f'"{code}/', failure.text).rstrip()
    return f"{text}\n{trace}" if trace else text
