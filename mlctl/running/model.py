"""What is run: nodes of a job, where their inputs come from, what came of them; plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

from mlctl.dataclasses import dataclass, field
from mlctl.pointer import Data
from mlctl.rehearsal.scoring.parallel import ParallelStep


class RunError(Exception):
    """A job that cannot be run here; one sentence for people."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that is written in a file or typed, as the command gets it."""

    text: str


@dataclass(frozen=True, slots=True)
class LocalData:
    """A file or folder of the user's."""

    path: Path


@dataclass(frozen=True, slots=True)
class StepOutput:
    """The output of another node."""

    node: str
    name: str


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Data that is not on this machine: what the file says of it, and the input that is typed."""

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
    """A condition under which a node runs: the value, and whether it has to be true."""

    value: Value
    expected: bool


def produced_by(value: Value) -> Iterator[StepOutput]:
    """The outputs of nodes that a value may be."""
    if isinstance(value, StepOutput):
        yield value
    elif isinstance(value, LoopOutput):
        for inner in value.rounds:
            yield from produced_by(inner)


@dataclass(frozen=True, slots=True)
class Trials:
    """A sweep: its search space and algorithm as YAML has them, what is compared, how many."""

    space: Mapping[str, Data]
    algorithm: str
    metric: str
    maximize: bool
    max_trials: int
    at_once: int
    early: Mapping[str, Data] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EnvironmentSource:
    """An environment that a document names: what is said of it here, in which folder."""

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

    @property
    def values(self) -> list[Value]:
        """What it takes: its inputs, and what says whether it runs."""
        return [*self.inputs.values(), *(guard.value for guard in self.guards)]

    @property
    def needs(self) -> set[str]:
        """The nodes whose outputs it takes."""
        return {output.node for value in self.values for output in produced_by(value)}


@dataclass(frozen=True, slots=True)
class JobPlan:
    """The nodes of a job in an order in which each comes after what it needs.

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
    """What came of a node: seconds, its folder, what it logged, why it failed, in a sentence.

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
        """What it wrote to its standard output and error."""
        return self.folder / "log.txt"

    def output(self, name: str) -> Path:
        """The place of one of its outputs."""
        return self.folder / "outputs" / name
