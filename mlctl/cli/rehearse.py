"""`mlctl rehearse`: the user's own code on nodes that are lost, here."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlctl import files
from mlctl.cli.exits import Exit
from mlctl.cli.local.flag_text import read_text
from mlctl.cli.parser.arguments import InvalidValue
from mlctl.cli.parser.command import command
from mlctl.cli.session import Session
from mlctl.diagnostics import Report
from mlctl.service_errors import Permanent

if TYPE_CHECKING:  # the event engine takes longer to load than most commands
    from mlctl.rehearsal.deployment import Deployment, Inputs
    from mlctl.rehearsal.outcome import Failure
    from mlctl.rehearsal.rehearse import Plan, Stage
    from mlctl.rehearsal.training import Training
    from mlctl.simulator.engine.processes import PreemptionProcess

_PATIENCE = 600.0  # seconds for a rehearsal, unless --timeout says otherwise
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class RehearsalFormat(StrEnum):
    """How a rehearsal is written."""

    HUMAN = "human"
    JSON = "json"
    JUNIT = "junit"


Path_ = Annotated[
    str,
    typer.Argument(
        metavar="PATH",
        help="A scoring or training script, or the YAML of a batch deployment or command job.",
    ),
]
Input = Annotated[
    str | None,
    typer.Option("--input", metavar="DIR|FILE", help="A few inputs as the job would get them."),
]
Named = Annotated[
    str | None,
    typer.Option("--deployment", metavar="ADDRESS", help="Which of several deployments of PATH."),
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
    typer.Option("--stub", help="Answer by a hash in place of an MLflow model without a script."),
]
Network = Annotated[bool, typer.Option("--network", help="Let the script reach the network.")]
Output = Annotated[
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
    output: Output = RehearsalFormat.HUMAN,
) -> Exit:
    """Run a scoring or training script here, take its nodes away, and compare the results.

    A calm run comes first, then a run for each kill. Exits with 1 where inputs are lost or doubled,
    a training begins anew, or something else breaks; each finding says how to run its kill again.
    The script runs with your rights: rehearse code that you would run.
    """
    from mlctl.rehearsal.deployment import Inputs, RehearsalError
    from mlctl.rehearsal.rehearse import Plan
    from mlctl.rehearsal.trained import RATE
    from mlctl.rehearsal.training import Training

    processes = _processes(preempt, weather, script)
    plan = Plan(seed=seed, kills=kills, weather=processes, only=kill)
    again = ["mlctl", "rehearse", path, "--seed", str(seed)]
    again += ["--stub"] if stub else []
    for flag, value in (
        *(("--input", input), ("--deployment", deployment), ("--preempt", preempt)),
        *(("--weather", weather), ("--script", script), ("--nodes", nodes), ("--python", python)),
    ):
        again += [flag, str(value)] if value is not None else []
    try:
        asked = _asked(session, path, deployment, stub=stub)
        if isinstance(asked, Training):
            rate = RATE if preempt is None else preempt
            with _stage(session, python, keep, network=network) as stage:
                return _training(session, asked, plan, rate, stage, again, output)
        if input is None:
            raise InvalidValue("a scoring script needs inputs", flag="--input")
        given = Inputs.find(Path(input))
    except RehearsalError as error:
        raise Permanent("NoRehearsal", str(error)) from None
    asked = _sized(session, asked, nodes, len(given.names), alone=Path(path).suffix == ".py")
    with _stage(session, python, keep, network=network) as stage:
        return _batch(session, asked, given, plan, stage, again, output)


def _training(
    session: Session,
    training: Training,
    plan: Plan,
    rate: float,
    stage: Stage,
    again: list[str],
    output: RehearsalFormat,
) -> Exit:
    from mlctl.rehearsal.process import TooLate
    from mlctl.rehearsal.trained import TrainingFails, rehearse_training
    from mlctl.render import diagnostics
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
    report.extend(render.findings(done.evidence, code, _repeat(again)))
    match output:
        case RehearsalFormat.JSON:
            session.out_data(render.training_json(done, report))
        case RehearsalFormat.JUNIT:
            session.out_data(render.training_junit(done))
        case _:
            color = session.color(sys.stdout)
            text = diagnostics.report(report, color=color, width=session.width)
            session.out(text + ("\n" if text else "") + render.training_summary(done, report))
    return Exit.ERROR if report.failed else Exit.OK


def _repeat(again: list[str]) -> Callable[[int | None], str]:
    return lambda kill: f"again: {shlex.join([*again, '--kill', str(kill)])}"


def _batch(
    session: Session,
    deployment: Deployment,
    inputs: Inputs,
    plan: Plan,
    stage: Stage,
    again: list[str],
    output: RehearsalFormat,
) -> Exit:
    from mlctl.rehearsal.process import TooLate
    from mlctl.rehearsal.rehearse import rehearse as go
    from mlctl.rehearsal.scoring import ScriptFails
    from mlctl.render import diagnostics
    from mlctl.render import rehearsal as render

    try:
        done = go(deployment, inputs, plan, stage)
    except ScriptFails as error:
        raise Permanent("ScriptFails", _fails(error.failure, deployment)) from None
    except TooLate:
        raise Permanent("TooLate", "the rehearsal took too long; --timeout gives it more") from None

    report = Report()
    shown_code = Path(os.path.relpath(deployment.code))
    report.extend(render.findings(done.evidence, shown_code, _repeat(again)))
    match output:
        case RehearsalFormat.JSON:
            session.out_data(render.as_json(done, report))
        case RehearsalFormat.JUNIT:
            session.out_data(render.as_junit(done, done.evidence))
        case _:
            color = session.color(sys.stdout)
            text = diagnostics.report(report, color=color, width=session.width)
            session.out(text + ("\n" if text else "") + render.summary(done, report))
    return Exit.ERROR if report.failed else Exit.OK


def _fails(failure: Failure, deployment: Deployment) -> str:
    """A sentence, and the traceback below it, with the user's own paths."""
    from mlctl.rehearsal.documents import MLFLOW_DRIVER

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
        text = f"{at}: {failure.message}; --python names a Python that has it"
    else:
        text = f"{at}: the script cannot be used: {failure.type}: {failure.message}"
    trace = re.sub(r'"[^"]*/nodes/\d+-\d+/code/', f'"{code}/', failure.text).rstrip()
    return f"{text}\n{trace}" if trace else text


def _asked(
    session: Session, path: str, address: str | None, *, stub: bool
) -> Deployment | Training:
    """What PATH names."""
    from mlctl.rehearsal.deployment import Deployment, RehearsalError
    from mlctl.rehearsal.documents import from_documents, of_script
    from mlctl.rehearsal.lines import Script

    given = Path(path)
    if given.suffix != ".py":
        return from_documents(path, address, session.today, stub=stub)
    if not files.is_file(given):
        raise RehearsalError(f"there is no script `{path}`")
    real = files.real(given)
    return Deployment(real, real.parent) if Script.read(real, path).scores else of_script(real)


def _sized(
    session: Session, found: Deployment, nodes: int | None, files_: int, *, alone: bool
) -> Deployment:
    """A deployment with as many nodes as a loss leaves some of.

    A script alone gets mini-batches that all workers have some of.
    """
    if nodes is None and found.nodes == 1:
        session.note("note: a job on one node is cancelled when it is lost; rehearsed with 2")
    found = replace(found, nodes=nodes or max(2, found.nodes))
    size = max(1, files_ // (2 * found.workers)) if alone else found.mini_batch_size
    return replace(found, mini_batch_size=min(found.mini_batch_size, size))


def _processes(
    rate: float | None, weather: str | None, script: Path | None
) -> tuple[PreemptionProcess, ...]:
    """What takes nodes away, by the flags; at most one of them."""
    from mlctl.forecast.weather import WeatherError, by_name, names, parse
    from mlctl.simulator.engine.processes import LossScript, Poisson

    if sum(one is not None for one in (rate, weather, script)) > 1:
        raise InvalidValue("only one of --preempt, --weather and --script", flag="--weather")
    if rate:
        return (Poisson(rate),)
    if weather is not None:
        try:
            found = by_name(weather)
            if found is None and not files.is_file(Path(weather)):
                known = ", ".join(names())
                raise InvalidValue(f"`{weather}` is no weather: {known}", flag="--weather")
            found = found or parse(read_text(Path(weather)), weather)
        except WeatherError as error:
            raise InvalidValue(str(error), flag="--weather") from None
        return found.processes()
    if script is not None:
        losses: list[tuple[float, int | str]] = []
        for line in read_text(script).splitlines():
            words = line.partition("#")[0].split()
            if words:
                losses.append(_loss(words))
        return (LossScript(tuple(losses)),)
    return ()


def _loss(words: list[str]) -> tuple[float, int | str]:
    """A line of a script of losses: when, and the number of a node from 1, or `all`."""
    from mlctl.simulator.engine.processes import ALL

    at, _, node = " ".join(words).partition(" ")
    if not at.replace(".", "", 1).isdecimal() or not (node == ALL or node.isdecimal()):
        text = f"`{' '.join(words)}` is no `SECOND NODE|all`, as `90 1`"
        raise InvalidValue(text, flag="--script")
    return float(at), node if node == ALL else int(node) - 1


@contextmanager
def _stage(
    session: Session, python: str | None, keep: Path | None, *, network: bool
) -> Iterator[Stage]:
    """Folder, interpreter and environment; in the end no process and no folder is left."""
    from mlctl.rehearsal.process import Interpreter, checked, sweep, without_network
    from mlctl.rehearsal.rehearse import Stage

    try:
        exe = checked(python)
    except OSError as error:
        raise InvalidValue(str(error), flag="--python") from None
    if not network and not without_network():
        session.note("note: this system gives no process a network of its own: it stays open")
    folder = _folder(keep)
    mark = uuid.uuid4().hex
    ends = time.monotonic() + (session.flags.timeout or _PATIENCE)
    alone = not network and bool(without_network())
    interpreter = Interpreter(exe, alone, _memory(), mark, ends)
    heard = [one for one in _SIGNALS if signal.getsignal(one) is not signal.SIG_IGN]  # nohup
    before = {number: signal.signal(number, _interrupt) for number in heard}
    try:
        yield Stage(interpreter, folder, session.environment, keep is not None)
    finally:
        sweep(mark)
        for number, handler in before.items():
            signal.signal(number, handler)
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)


def _interrupt(_number: int, _frame: Any) -> None:
    raise KeyboardInterrupt


def _folder(keep: Path | None) -> Path:
    if keep is None:
        return Path(tempfile.mkdtemp(prefix="mlctl-rehearsal-"))
    try:
        keep.mkdir(parents=True)
    except OSError as error:
        why = f"cannot make the folder `{keep}`: {error.strerror}"
        raise InvalidValue(why, flag="--keep") from None
    return files.real(keep)


def _memory() -> int:
    """The bytes of data that one worker may have: the memory of the machine."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0
