"""`mlctl rehearse`: the user's own code on nodes that are lost, here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mlctl import files
from mlctl.cli.rehearse import scoring as rehearse_scoring
from mlctl.cli.rehearse import training as rehearse_training
from mlctl.cli.rehearse.options import CodeArgs, KillArgs, RunArgs, TrainingArgs, command_words
from mlctl.cli.rehearse.stage import Output, RehearsalFormat
from mlctl.cli.shell import Exit, InvalidValue, Session, argument, flag
from mlctl.cli.shell.rule_choice import new_report
from mlctl.service_errors import Permanent

if TYPE_CHECKING:  # the event engine takes longer to load than most commands
    from mlctl.rehearsal.scoring.deployment import Deployment
    from mlctl.rehearsal.training.model import Training

ScriptOrYaml = Annotated[str, argument(metavar="PATH")]
Form = Annotated[RehearsalFormat, flag("--output", "-o")]


def rehearse(
    session: Session,
    path: ScriptOrYaml,
    subject: CodeArgs,
    kills: KillArgs,
    runs: RunArgs,
    training: TrainingArgs,
    output: Form = "human",
) -> Exit:
    """Test a scoring or training script against node losses, on this machine.

    The first run has no kills; each of the others has one. Exits with 1 if inputs are lost or
    duplicated, if training starts over, or if anything else breaks; each finding shows how to
    repeat its kill. The script runs with your permissions, so rehearse only code that you trust.
    """
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
            return rehearse_training.rehearse(code, schedule, runs, training, to)
        training.refuse()
        alone = Path(path).suffix == ".py"
        return rehearse_scoring.rehearse(code, schedule, subject, runs, to, alone=alone)
    except RehearsalError as error:
        raise Permanent("NoRehearsal", str(error)) from None


def _code(session: Session, path: str, subject: CodeArgs, runs: RunArgs) -> Deployment | Training:
    """Return the deployment or training job that PATH names."""
    from mlctl.rehearsal.documents import Selected, from_documents
    from mlctl.rehearsal.inputs import RehearsalError
    from mlctl.rehearsal.scoring.deployment import Deployment
    from mlctl.rehearsal.scoring.lines import Script
    from mlctl.rehearsal.training.job import from_script

    file = Path(path)
    if file.suffix != ".py":
        loaded = session.loader(new_report(session), scripts=False).load([path])
        inputs = None if subject.input is None else Path(subject.input)
        selected = Selected(subject.deployment, inputs, runs.nodes)
        return from_documents(path, loaded, selected, stub=runs.stub)
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
