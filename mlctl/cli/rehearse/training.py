"""A rehearsal of a training, from flags to words."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mlctl.cli.parser.arguments import InvalidValue
from mlctl.cli.rehearse.output import Output, RehearsalFormat
from mlctl.cli.shell.exits import Exit
from mlctl.diagnostics import Report
from mlctl.service_errors import Permanent

if TYPE_CHECKING:  # the event engine takes longer to load than most commands
    from mlctl.rehearsal.stage import KillSchedule, Stage
    from mlctl.rehearsal.training.model import Training
    from mlctl.rehearsal.training.rehearsal import TrainingPlan

_STEP_S = 60.0  # as for jobs of the simulated cloud of which nothing else is known


@dataclass(frozen=True, slots=True)
class Length:
    """How long a training is, as far as flags say."""

    steps: int | None
    step_s: float | None

    @property
    def seconds(self) -> float | None:
        """On a node, without a loss; None where nothing was said.

        Raises:
            InvalidValue: only the time of a step was.
        """
        if self.steps is None and self.step_s is not None:
            why = "how many steps there are is missing: --steps"
            raise InvalidValue(why, flag="--seconds-per-step")
        return None if self.steps is None else self.steps * (self.step_s or _STEP_S)

    def refuse(self, *, anywhere: bool) -> None:
        """What is for trainings says nothing about a scoring script.

        Raises:
            InvalidValue: something was said.
        """
        for flag, given in (
            ("--steps", self.steps is not None),
            ("--seconds-per-step", self.step_s is not None),
            ("--kill-at-any-time", anywhere),
        ):
            if given:
                raise InvalidValue("this is for trainings, and not for scoring scripts", flag=flag)


def planned(
    training: Training, plan: KillSchedule, length: Length, nodes: int | None, *, anywhere: bool
) -> tuple[Training, TrainingPlan]:
    """The training as the flags want it, and what is done to it.

    Raises:
        InvalidValue: flags that say nothing together.
        RehearsalError: the training cannot be so.
    """
    from mlctl.rehearsal.training.job import with_nodes, with_steps
    from mlctl.rehearsal.training.rehearsal import TrainingPlan, rate_of

    if anywhere and plan.weather:
        raise InvalidValue("a weather says itself when nodes go", flag="--kill-at-any-time")
    training = with_nodes(training, nodes)
    if length.steps is not None:
        training = with_steps(training, length.steps)
    return training, TrainingPlan(
        schedule=plan, rate=rate_of(plan.weather), anywhere=anywhere, seconds=length.seconds
    )


def rehearse(training: Training, plan: TrainingPlan, stage: Stage, output: Output) -> Exit:
    """Rehearse a training, and write what came of it.

    Raises:
        Permanent: the command fails without any loss, or takes too long.
        RehearsalError: a weather does not know how long the training is.
    """
    from mlctl.rehearsal.process import TooLate
    from mlctl.rehearsal.training.rehearsal import TrainingFails, rehearse_training
    from mlctl.render.rehearsal import page as rehearsal_page
    from mlctl.render.rehearsal import report as render

    try:
        done = rehearse_training(training, stage, plan)
    except TrainingFails as error:
        raise Permanent("TrainingFails", _fails(str(error), training.code)) from None
    except TooLate:
        raise Permanent("TooLate", "the rehearsal took too long; --timeout gives it more") from None
    report = Report()
    code = Path(os.path.relpath(training.code))
    report.extend(render.findings(done.evidence, code, output.again))
    summary = render.training_summary(done, report)
    return output.write(
        report,
        {
            RehearsalFormat.JSON: lambda: render.training_json(done, report),
            RehearsalFormat.JUNIT: lambda: render.training_junit(done),
            RehearsalFormat.HTML: lambda: rehearsal_page.training(done, summary, output.again),
        },
        summary,
    )


def _fails(text: str, code: Path) -> str:
    """What the command said, with the user's own paths."""
    text = re.sub(r'"[^"]*/nodes/\d+-\d+/code/', f'"{os.path.relpath(code)}/', text)
    if "ModuleNotFoundError" in text:
        text = text.replace(")\n", "); --python names a Python that has what it imports\n", 1)
    return text
