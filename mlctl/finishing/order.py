"""The order of a job: its shards, their merged results, its policy, deadline and budget."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from mlctl.dataclasses import asdict, dataclass, replace
from mlctl.forecast.batch.policy import RecoveryPolicy, Switch, parse
from mlctl.pointer import Data
from mlctl.simulator.engine.model import HOUR, Tier


@dataclass(frozen=True, slots=True)
class Order:
    """A job of a batch endpoint, done shard by shard.

    `deployment` takes the runs on low priority, `dedicated` those that must not be lost; the latter
    is created with a cluster of its own if `makes_twin`. `inputs` are ARM's, of the whole job.
    `files` are the names of its files in order, if known, and `sizes` how many each shard has.
    `folders` are the URIs of the shards' folders, if each has its own. Files of the local folder
    `source` are uploaded to the folder `upload` of the workspace's storage, and removed at the end.
    `version` is the deployment's hash when the order was made, `weather` the name of the forecast's
    weather. `workload` is the work on a simulated cloud. Times are in seconds: `node_s` is the time
    of a node per file. `nodes` is the nodes of a run. Prices are in USD per node-hour.

    For a job without an endpoint, `job` is its ARM properties, files are steps, and one shard takes
    many runs. The output `checkpoint` of a run is the input `resumes` of the next one; "" if each
    run starts from the beginning. `deployment` and `dedicated` are then clusters, or "" on
    serverless compute. If `whole`, every run does the whole job: a pipeline component, or a `job`.
    """

    name: str
    endpoint: str
    deployment: str
    dedicated: str
    makes_twin: bool
    inputs: Mapping[str, Data]
    files: tuple[str, ...]
    sizes: tuple[int, ...]
    mini_batch_size: int
    policy: str
    deadline_s: float | None
    max_cost: float | None
    give_up_after: int
    low_price: float
    dedicated_price: float
    node_s: float
    nodes: int
    workload: Mapping[str, Data]
    output_file: str = "predictions.csv"
    switch: Mapping[str, float] | None = None
    folders: tuple[str, ...] = ()
    source: str = ""
    upload: str = ""
    version: str = ""
    weather: str = ""
    job: Mapping[str, Data] | None = None
    checkpoint: str = ""
    resumes: str = ""
    whole: bool = False

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Order:
        """Build an order from JSON data, as `document` returns it."""
        lists = {name: tuple(data.get(name) or ()) for name in ("files", "sizes", "folders")}
        return cls(**{**data, **lists})

    def document(self) -> dict[str, Any]:
        """Return the order as JSON data."""
        return asdict(self)

    @property
    def recovery(self) -> RecoveryPolicy:
        """The policy, as a forecast uses it."""
        switch = Switch(**self.switch) if self.switch is not None else None  # type: ignore[arg-type]
        policy = replace(parse(self.policy), switch=switch)
        if self.checkpoint:
            return replace(policy, resumes=True)
        return replace(policy, shards=len(self.sizes))

    def step_cost(self, files: int, tier: Tier) -> float:
        """Return the cost in USD of so many files on a tier if nothing is lost."""
        return self.cost(files * self.node_s, tier)

    def cost(self, node_s: float, tier: Tier) -> float:
        """Return the cost in USD of node-seconds on a tier."""
        price = self.dedicated_price if tier is Tier.DEDICATED else self.low_price
        return node_s * price / HOUR

    def names(self, shard: int) -> tuple[str, ...]:
        """Return the names of the files of a shard."""
        first = sum(self.sizes[:shard])
        return self.files[first : first + self.sizes[shard]]

    def folder(self, shard: int) -> str:
        """Return the folder of the workspace's storage for the files of a shard."""
        return f"{self.upload}/shard-{shard + 1:04}"

    def run_name(self, number: int) -> str:
        """Return the name of a run by its number, from 0."""
        return self.name if not number else f"{self.name}-{number + 1}"


@dataclass(frozen=True, slots=True)
class Split:
    """The files of an input in their order, and how they can be split.

    `source` is their local folder, which can be split into any number of shards. Otherwise `sizes`
    are the numbers of files in each of `folders` (URIs); if these are empty, `reason` says why.
    """

    files: tuple[str, ...]
    source: str = ""
    folders: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    reason: str = ""


def split_by_folders(uri: str, files: Sequence[str]) -> Split:
    """Split a stored input into one shard per top-level folder."""
    above = [name for name in files if "/" not in name]
    names = [
        (name, len(list(group)))
        for name, group in groupby(files, lambda name: name.partition("/")[0])
    ]
    reason = ""
    if not files:
        reason = "it is empty"
    elif above:
        reason = f"it has files outside of folders (`{above[0]}`)"
    elif len(names) == 1:
        reason = f"all its files are in one folder, `{names[0][0]}`"
    if reason:
        return Split(tuple(files), reason=reason)
    folders = tuple(f"{uri.rstrip('/')}/{name}" for name, _ in names)
    return Split(tuple(files), "", folders, tuple(count for _, count in names))


_SIMULATED = re.compile(r"^mini-batch (\d+),simulated$", re.MULTILINE)


def merge(parts: Sequence[Path], batches: Sequence[int], output_file: str, to: Path) -> None:
    """Merge result folders into `to`, in their order; `to` must not have any of their files.

    The file that `append_row` writes is concatenated. Other files keep their names, unless several
    shards have the same one: then each goes to a folder named after its shard. Rows of a simulated
    cloud number their mini-batches; the numbers continue across shards, of which each has
    `batches`.
    """
    names = [
        {path.relative_to(part).as_posix() for path in part.rglob("*") if path.is_file()}
        for part in parts
    ]
    first = 0
    for number, part in enumerate(parts):
        for name in sorted(names[number]):
            other_parts = (files for at, files in enumerate(names) if at != number)
            if Path(name).name == output_file:
                _append(part / name, to / name, first)
                continue
            shared = any(name in files for files in other_parts)
            target = to / (f"shard-{number + 1:04}/{name}" if shared else name)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(part / name, target)
        first += batches[number]


def _append(source: Path, target: Path, first: int) -> None:
    data = source.read_bytes()
    if b",simulated" in data[:100] and first:
        text = _SIMULATED.sub(
            lambda row: f"mini-batch {int(row[1]) + first},simulated", data.decode()
        )
        data = text.encode()
    if data and not data.endswith(b"\n"):
        data += b"\n"
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("ab") as file:
        file.write(data)
