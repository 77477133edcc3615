"""The flags of `mlctl rehearse`, a record per topic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mlctl.cli.local.flags import read_text, weather_of
from mlctl.cli.shell import InvalidValue, flag
from mlctl.cli.shell.rule_choice import Strict
from mlctl.dataclasses import asdict, dataclass

if TYPE_CHECKING:  # the event engine takes longer to load than most commands
    from mlctl.rehearsal.stage import KillSchedule
    from mlctl.simulator.engine.processes import PreemptionProcess

_STEP_S = 60.0  # as for simulated jobs with nothing else known
_NOT_REPEATED = ("seed", "kills", "kill", "keep")


@dataclass(frozen=True, slots=True, kw_only=True)
class PathArgs:
    """Which code of PATH to rehearse, on which inputs."""

    input: str | None = flag(metavar="DIR|FILE")
    deployment: str | None = flag(metavar="ADDRESS")
    tabular: bool = flag(default=False)
    arguments: str | None = flag(metavar="WORDS")
    model: Path | None = flag(metavar="DIR|FILE")
    workers: int | None = flag(metavar="N", min=1, max=64)


@dataclass(frozen=True, slots=True, kw_only=True)
class KillArgs:
    """Which nodes are lost."""

    preempt: float | None = flag(metavar="RATE", min=0)
    weather: str | None = flag(metavar="NAME")
    script: Path | None = flag(metavar="FILE")
    kills: int = flag(default=10, metavar="N", min=0, max=1000)
    kill: int | None = flag(metavar="K", min=1, max=1000)
    seed: int = flag(default=0, metavar="S", min=0)

    def schedule(self) -> KillSchedule:
        """Return the losses that the flags ask for."""
        from mlctl.rehearsal.stage import KillSchedule

        return KillSchedule(
            seed=self.seed, kills=self.kills, weather=_processes(self), only=self.kill
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunArgs:
    """Where the code runs."""

    nodes: int | None = flag(metavar="N", min=1, max=64)
    python: str | None = flag(metavar="EXE")
    keep: Path | None = flag(metavar="DIR")
    network: bool = flag(default=False)
    strict: Strict = False
    stub: bool = flag(default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingArgs:
    """Flags that only training jobs have."""

    steps: int | None = flag(metavar="N", min=1)
    seconds_per_step: float | None = flag(metavar="S", min=0.001)
    kill_at_any_time: bool = flag(default=False)

    @property
    def seconds(self) -> float | None:
        """Return how long the job takes on a node without a loss; None if not given."""
        if self.steps is None and self.seconds_per_step is not None:
            why = "the number of steps is missing: --steps"
            raise InvalidValue(why, flag="--seconds-per-step")
        return None if self.steps is None else self.steps * (self.seconds_per_step or _STEP_S)

    def refuse(self) -> None:
        """Refuse flags for training jobs with a scoring script."""
        flags = _flags(self)
        if flags:
            why = "this is for training jobs, not for scoring scripts"
            raise InvalidValue(why, flag=flags[0])


def command_words(
    path: str, subject: PathArgs, kills: KillArgs, runs: RunArgs, training: TrainingArgs
) -> list[str]:
    """Return the words that repeat the rehearsal; `--kill` adds one of its kills."""
    words = ["mlctl", "rehearse", path, "--seed", str(kills.seed)]
    for args in (subject, kills, runs, training):
        words += _flags(args)
    return words


def _flags(args: PathArgs | KillArgs | RunArgs | TrainingArgs) -> list[str]:
    """Return the given flags of a record, with their values."""
    words: list[str] = []
    for name, value in asdict(args).items():
        if value is None or value is False or name in _NOT_REPEATED:
            continue
        words.append(f"--{name.replace('_', '-')}")
        words += [] if value is True else [str(value)]
    return words


def _processes(args: KillArgs) -> tuple[PreemptionProcess, ...]:
    """Return the processes by which nodes are lost; only one flag may name them."""
    from mlctl.simulator.engine.processes import LossScript, Poisson

    if sum(flag is not None for flag in (args.preempt, args.weather, args.script)) > 1:
        raise InvalidValue("only one of --preempt, --weather and --script", flag="--weather")
    if args.preempt:
        return (Poisson(args.preempt),)
    if args.weather is not None:
        model = weather_of(args.weather)
        if model.trace is not None:
            raise InvalidValue(
                f"`{args.weather}` is a trace, which a rehearsal does not take; name a weather",
                flag="--weather",
            )
        return model.processes()
    if args.script is not None:
        lines = (line.partition("#")[0].split() for line in read_text(args.script).splitlines())
        return (LossScript(tuple(_loss(words) for words in lines if words)),)
    return ()


def _loss(words: list[str]) -> tuple[float, int | str]:
    """Parse a line of a script of losses: when, and the number of a node from 1, or `all`."""
    from mlctl.simulator.engine.processes import ALL

    at, _, node = " ".join(words).partition(" ")
    if not at.replace(".", "", 1).isdecimal() or not (node == ALL or node.isdecimal()):
        text = f"`{' '.join(words)}` is not `SECOND NODE|all`, as `90 1`"
        raise InvalidValue(text, flag="--script")
    return float(at), node if node == ALL else int(node) - 1
