"""The nodes of a local job, the sources of their inputs, and their results, as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

from mlctl.dataclasses import dataclass, field
from mlctl.kinds import control_flow
from mlctl.kinds.expressions import INPUTS, find, only
from mlctl.pointer import Data
from mlctl.rehearsal.scoring.parallel import ParallelStep


class RunError(Exception):
    """A job that cannot run here; the message is one sentence for people."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that is written in a file or typed, as the command gets it."""

    text: str


@dataclass(frozen=True, slots=True)
class LocalData:
    """A local file or folder of the user."""

    path: Path


@dataclass(frozen=True, slots=True)
class StepOutput:
    """The output of another node."""

    node: str
    name: str


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Data that is not on this machine: its text in the file, and the input to replace it."""

    uri: str
    typed: str = ""


@dataclass(frozen=True, slots=True)
class LoopOutput:
    """An output of a loop: that of the last round that ran, or with `every` those of all."""

    rounds: tuple[StepOutput | LoopOutput, ...]
    every: bool = False


Produced: TypeAlias = StepOutput | LoopOutput
Value: TypeAlias = Literal | LocalData | Produced | Elsewhere


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition under which a node runs: the value, and whether it must be true."""

    value: Value
    expected: bool


def produced_by(value: Value) -> Iterator[StepOutput]:
    """Return the outputs of nodes that a value may be."""
    if isinstance(value, StepOutput):
        yield value
    elif isinstance(value, LoopOutput):
        for inner in value.rounds:
            yield from produced_by(inner)


@dataclass(frozen=True, slots=True)
class StepScope:
    """What a step's expressions may name: its pipeline's inputs, and the outputs of other steps."""

    inputs: Mapping[str, Value] = field(default_factory=dict)
    outputs: dict[str, Mapping[str, Produced]] = field(default_factory=dict)

    def value(self, text: str, where: str) -> Value | None:
        """Resolve the text of an input at a place; None: an input without a value."""
        if rounds := control_flow.rounds_of(text):
            every, paths = rounds
            values = [self._find(path, where) for path in paths]
            return LoopOutput(tuple(v for v in values if isinstance(v, Produced)), every)
        expression = only(text)
        if expression is not None:
            return self._find(expression.path, where)
        for inside in reversed(list(find(text))):
            value = self._find(inside.path, where)
            if isinstance(value, Literal):
                text = text[: inside.start] + value.text + text[inside.end :]
        return Literal(text)

    def _find(self, path: tuple[str, ...], where: str) -> Value | None:
        """Resolve `parent.inputs.NAME` or `parent.jobs.STEP.outputs.NAME`."""
        match path:
            case ("parent", "inputs", *names):
                return self.inputs.get(".".join(names))
            case ("parent", "jobs", step, "outputs", name) if name in self.outputs.get(step, {}):
                return self.outputs[step][name]
            case ("parent", "jobs", step, *_) if len(self.outputs.get(step, {})) == 1:
                return next(iter(self.outputs[step].values()))
        raise RunError(f"{where}: `${{{{{'.'.join(path)}}}}}` leads nowhere")

    def guards(self, step: Mapping[str, Data], where: str) -> tuple[Guard, ...]:
        """Return the conditions that control flow puts on a step."""
        conditions = step.get(control_flow.CONDITION)
        return tuple(
            Guard(self.value(str(text), where) or Literal(""), expected == "true")
            for expected, texts in (conditions.items() if isinstance(conditions, Mapping) else ())
            for text in (texts if isinstance(texts, list) else ())
        )


@dataclass(frozen=True, slots=True)
class Trials:
    """A sweep: its search space and algorithm as in YAML, the metric, and the number of trials."""

    space: Mapping[str, Data]
    algorithm: str
    metric: str
    maximize: bool
    max_trials: int
    at_once: int
    early: Mapping[str, Data] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EnvironmentSource:
    """An environment that a document names: its local description, and the folder of that."""

    name: str
    data: Mapping[str, Data]
    folder: Path


@dataclass(frozen=True, slots=True)
class RunNode:
    """A command, sweep or parallel step with the sources of its inputs.

    `outputs` are their types by name. `timeout` is in seconds. `processes` are those of
    `distribution`, which all run on this machine. `where` is its place in a file (`job.yml:12`).
    `python` runs it, where another one does than the rest, or a container of `image`; and that
    where all `guards` hold.
    """

    name: str
    where: str
    command: str
    code: Path | None
    inputs: Mapping[str, Value]
    outputs: Mapping[str, str]
    variables: Mapping[str, str] = field(default_factory=dict)
    processes: int = 1
    distribution: str = ""
    timeout: float | None = None
    reusable: bool = True
    trials: Trials | None = None
    parallel: ParallelStep | None = None
    environment: EnvironmentSource | None = None
    python: str = ""
    image: str = ""
    guards: tuple[Guard, ...] = ()

    def splits(self, name: str) -> bool:
        """Whether an input is that of a parallel step which is split into mini-batches."""
        data = self.parallel.setting("input_data") if self.parallel is not None else None
        expression = only(str(data or ""))
        return expression is not None and expression.path == (INPUTS, name)

    @property
    def values(self) -> list[Value]:
        """Return the values that it needs: its inputs, and its conditions."""
        return [*self.inputs.values(), *(guard.value for guard in self.guards)]

    @property
    def needs(self) -> set[str]:
        """Return the nodes whose outputs it needs."""
        return {output.node for value in self.values for output in produced_by(value)}


@dataclass(frozen=True, slots=True)
class JobPlan:
    """The nodes of a job in order: each comes after those that it needs.

    `outputs` are those of the job itself. With `goes_on` a failure stops only what needs it.
    """

    name: str
    nodes: Mapping[str, RunNode]
    outputs: Mapping[str, Produced] = field(default_factory=dict)
    goes_on: bool = True


class RunStatus(StrEnum):
    """How a node ended, in the words of Azure ML."""

    COMPLETED = "Completed"
    FAILED = "Failed"
    CANCELED = "Canceled"
    NOT_STARTED = "NotStarted"
    BYPASSED = "Bypassed"  # its condition does not hold

    @property
    def is_well(self) -> bool:
        """Whether a job with such a node can have completed."""
        return self in (RunStatus.COMPLETED, RunStatus.BYPASSED)


@dataclass(frozen=True, slots=True)
class NodeResult:
    """The result of a node: seconds, folder, logged metrics, and why it failed in a sentence.

    `trials` are those of a sweep.
    """

    status: RunStatus
    folder: Path
    seconds: float = 0.0
    reused: bool = False
    why: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    parameters: Mapping[str, Data] = field(default_factory=dict)
    trials: tuple[NodeResult, ...] = ()

    @property
    def log(self) -> Path:
        """Read its standard output and error."""
        return self.folder / "log.txt"

    def output(self, name: str) -> Path:
        """Return the place of one of its outputs."""
        return self.folder / "outputs" / name
