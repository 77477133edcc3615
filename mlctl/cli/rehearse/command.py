"""`mlctl rehearse`: the user's own code on nodes that are lost, here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlctl import files
from mlctl.cli.parser.arguments import InvalidValue
from mlctl.cli.rehearse import scoring as rehearse_scoring
from mlctl.cli.rehearse import training as rehearse_training
from mlctl.cli.rehearse.losses import processes
from mlctl.cli.rehearse.output import Output, RehearsalFormat
from mlctl.cli.rehearse.stage import stage
from mlctl.cli.shell.command import command
from mlctl.cli.shell.exits import Exit
from mlctl.cli.shell.rule_choice import new_report
from mlctl.cli.shell.session import Session
from mlctl.service_errors import Permanent

if TYPE_CHECKING:  # the event engine takes longer to load than most commands
    from mlctl.rehearsal.documents import Selected
    from mlctl.rehearsal.scoring.deployment import Deployment
    from mlctl.rehearsal.training.model import Training


Path_ = Annotated[
    str,
    typer.Argument(
        metavar="PATH",
        help="A scoring or training script, or the YAML of a deployment, pipeline or command job.",
    ),
]
Input = Annotated[
    str | None,
    typer.Option("--input", metavar="DIR|FILE", help="A few inputs as the job would get them."),
]
Named = Annotated[
    str | None,
    typer.Option(
        "--deployment", metavar="ADDRESS", help="Which of several deployments or steps of PATH."
    ),
]
Tabular = Annotated[
    bool,
    typer.Option("--tabular", help="Give `run` rows, as parallel jobs do, and not files."),
]
Model = Annotated[
    Path | None,
    typer.Option("--model", metavar="DIR|FILE", help="The model of a scoring script by itself."),
]
Arguments = Annotated[
    str | None,
    typer.Option("--arguments", metavar="WORDS", help="Arguments of the scoring script."),
]
Kills = Annotated[
    int, typer.Option("--kills", metavar="N", min=0, max=1000, help="Runs with one kill each.")
]
Kill = Annotated[
    int | None,
    typer.Option("--kill", metavar="K", min=1, max=1000, help="Only this kill, once more."),
]
Seed = Annotated[int, typer.Option("--seed", metavar="S", min=0, help="Another seed, other kills.")]
Preempt = Annotated[
    float | None,
    typer.Option("--preempt", metavar="RATE", min=0, help="Losses per node-hour, all in one run."),
]
WeatherName = Annotated[
    str | None,
    typer.Option("--weather", metavar="NAME", help="Losses by a weather, all in one run."),
]
LossFile = Annotated[
    Path | None,
    typer.Option(
        "--script", metavar="FILE", help="Losses as lines of `SECOND NODE|all`, all in one run."
    ),
]
Nodes = Annotated[
    int | None,
    typer.Option(
        "--nodes", metavar="N", min=1, max=64, help="Nodes; the deployment's, at least 2."
    ),
]
Python = Annotated[
    str | None,
    typer.Option("--python", metavar="EXE", help="The Python with what the script imports."),
]
Keep = Annotated[
    Path | None,
    typer.Option("--keep", metavar="DIR", help="Leave what the runs wrote in this new folder."),
]
Stub = Annotated[
    bool,
    typer.Option(
        "--stub",
        help="Answer by a hash in place of packages that are absent, and of an MLflow model.",
    ),
]
Steps = Annotated[
    int | None,
    typer.Option("--steps", metavar="N", min=1, help="Let a training make so many steps."),
]
StepTime = Annotated[
    float | None,
    typer.Option(
        "--seconds-per-step", metavar="S", min=0.001, help="Time of a step on a node; 60 s."
    ),
]
Anytime = Annotated[
    bool,
    typer.Option(
        "--kill-at-any-time",
        help="Kill a training anywhere: at any line, before and in the middle of any write.",
    ),
]
Network = Annotated[bool, typer.Option("--network", help="Let the script reach the network.")]
Form = Annotated[
    RehearsalFormat, typer.Option("--output", "-o", help="How the rehearsal is written.")
]


def register(app: typer.Typer, verb: str) -> None:
    """Add the command."""
    command(app, verb)(rehearse)


def rehearse(
    session: Session,
    path: Path_,
    input: Input = None,  # noqa: A002  # the flag's name
    deployment: Named = None,
    tabular: Tabular = False,
    arguments: Arguments = None,
    model: Model = None,
    preempt: Preempt = None,
    weather: WeatherName = None,
    script: LossFile = None,
    kills: Kills = 10,
    kill: Kill = None,
    seed: Seed = 0,
    nodes: Nodes = None,
    python: Python = None,
    keep: Keep = None,
    network: Network = False,
    stub: Stub = False,
    steps: Steps = None,
    seconds_per_step: StepTime = None,
    kill_at_any_time: Anytime = False,
    output: Form = RehearsalFormat.HUMAN,
) -> Exit:
    """Run a scoring or training script here, take its nodes away, and compare the results.

    A calm run comes first, then a run for each kill. Exits with 1 where inputs are lost or doubled,
    a training starts over, or something else breaks; each finding says how to run its kill again.
    The script runs with your rights: rehearse code that you would run.
    """
    from mlctl.rehearsal.documents import Selected
    from mlctl.rehearsal.inputs import RehearsalError
    from mlctl.rehearsal.stage import KillSchedule
    from mlctl.rehearsal.training.model import Training

    losses = processes(preempt, weather, script)
    plan = KillSchedule(seed=seed, kills=kills, weather=losses, only=kill)
    again = ["mlctl", "rehearse", path, "--seed", str(seed)]
    again += ["--network"] if network else []
    again += ["--stub"] if stub else []
    again += ["--tabular"] if tabular else []
    again += ["--kill-at-any-time"] if kill_at_any_time else []
    for flag, value in (
        *(
            ("--input", input),
            ("--deployment", deployment),
            ("--arguments", arguments),
            ("--model", model),
        ),
        ("--preempt", preempt),
        *(("--weather", weather), ("--script", script), ("--nodes", nodes), ("--python", python)),
        *(("--steps", steps), ("--seconds-per-step", seconds_per_step)),
    ):
        again += [flag, str(value)] if value is not None else []
    to = Output(session, output, again)
    try:
        selected = Selected(deployment, None if input is None else Path(input), nodes)
        asked = _asked(session, path, selected, stub=stub)
        length = rehearse_training.Length(steps, seconds_per_step)
        if isinstance(asked, Training):
            asked, trained = rehearse_training.planned(
                asked, plan, length, nodes, anywhere=kill_at_any_time
            )
            with stage(session, python, keep, network=network) as here:
                return rehearse_training.rehearse(asked, trained, here, to)
        length.refuse(anywhere=kill_at_any_time)
        if input is None:
            raise InvalidValue("a scoring script needs inputs", flag="--input")
        asked = rehearse_scoring.told(
            asked, Path(input), arguments, model, tabular=tabular, stub=stub
        )
        alone = Path(path).suffix == ".py"
        with stage(session, python, keep, network=network) as here:
            given = rehearse_scoring.inputs(asked, Path(input), here)
            asked = rehearse_scoring.sized(session, asked, nodes, given, alone=alone)
            return rehearse_scoring.rehearse(asked, given, plan, here, to)
    except RehearsalError as error:
        raise Permanent("NoRehearsal", str(error)) from None


def _asked(session: Session, path: str, selected: Selected, *, stub: bool) -> Deployment | Training:
    """What PATH names."""
    from mlctl.rehearsal.documents import from_documents
    from mlctl.rehearsal.inputs import RehearsalError
    from mlctl.rehearsal.scoring.deployment import Deployment
    from mlctl.rehearsal.scoring.lines import Script
    from mlctl.rehearsal.training.job import from_script

    given = Path(path)
    if given.suffix != ".py":
        loaded = session.loader(new_report(session), scripts=False).load([path])
        return from_documents(path, loaded, selected, stub=stub)
    if not files.is_file(given):
        raise RehearsalError(f"there is no script `{path}`")
    real = files.real(given)
    read = Script.read(real, path)
    if read.scores and (read.tree is not None or selected.input is not None):
        return Deployment(real, real.parent)
    if selected.input is not None:
        raise RehearsalError(
            f"`{path}` has no `run(mini_batch)`, so it is a training, whose inputs a job.yml names"
        )
    return from_script(real)
