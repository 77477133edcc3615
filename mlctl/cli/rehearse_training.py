"""A rehearsal of a training, from flags to words."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mlctl.cli.exits import Exit
from mlctl.cli.rehearse_output import Output, RehearsalFormat
from mlctl.diagnostics import Report
from mlctl.service_errors import Permanent

if TYPE_CHECKING:  # the event engine takes longer to load than most commands
    from mlctl.rehearsal.rehearse import Plan, Stage
    from mlctl.rehearsal.training import Training


def rehearse(training: Training, plan: Plan, rate: float, stage: Stage, output: Output) -> Exit:
    """Rehearse a training, and write what came of it.

    Raises:
        Permanent: the command fails without any loss, or takes too long.
    """
    from mlctl.rehearsal.process import TooLate
    from mlctl.rehearsal.trained import TrainingFails, rehearse_training
    from mlctl.render import rehearsal as render

    try:
        done = rehearse_training(
            training, stage, seed=plan.seed, kills=plan.kills, only=plan.only, rate=rate
        )
    except TrainingFails as error:
        raise Permanent("TrainingFails", str(error)) from None
    except TooLate:
        raise Permanent("TooLate", "the rehearsal took too long; --timeout gives it more") from None
    report = Report()
    code = Path(os.path.relpath(training.code))
    report.extend(render.findings(done.evidence, code, output.again))
    return output.write(
        report,
        {
            RehearsalFormat.JSON: lambda: render.training_json(done, report),
            RehearsalFormat.JUNIT: lambda: render.training_junit(done),
        },
        render.training_summary(done, report),
    )
