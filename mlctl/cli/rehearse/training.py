"""Rehearse a training job, from flags to output."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mlctl.cli.rehearse.options import RunArgs, TrainingArgs
from mlctl.cli.rehearse.stage import Output, stage
from mlctl.cli.shell import Exit, InvalidValue
from mlctl.service_errors import Permanent

if TYPE_CHECKING:  # the event engine takes longer to load than most commands
    from mlctl.rehearsal.stage import KillSchedule, Stage
    from mlctl.rehearsal.training.model import Training
    from mlctl.rehearsal.training.rehearsal import TrainingPlan


def rehearse(
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
        return _rehearse(training, plan, stage_, output)


def _rehearse(training: Training, plan: TrainingPlan, here: Stage, output: Output) -> Exit:
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
