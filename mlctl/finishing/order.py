"""What is to be finished: the job in shards, by which policy, by when and for how much."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlctl.dataclasses import asdict, dataclass, replace
from mlctl.forecast.batch.policy import RecoveryPolicy, Switch, parse
from mlctl.pointer import Data
from mlctl.simulator.engine.model import HOUR, Tier


@dataclass(frozen=True, slots=True)
class Order:
    """A job of a batch endpoint, done by shards, one after the other.

    `deployment` takes the runs on low priority, `dedicated` those that must not be lost. The latter
    is made where `makes_twin`, with a cluster of its own. `inputs` are ARM's, of the whole job;
    `files` are the names of its files in their order, where they are known, and `sizes` how many
    each shard has of them; where a shard has a folder of its own, `folders` are their URIs. Files
    of the local folder `source` are first sent to the folder `upload` of the workspace's storage,
    and removed from there at the end. `version` is what the deployment was when the order was made,
    `weather` the name of what the forecast reckons with.
    `workload` says what files take on a simulated cloud. Times are in seconds, `node_s` is what a
    file takes of a node, `nodes` are those that a run works on, prices are in USD an hour.

    Of a job without an endpoint `job` are ARM's properties; its steps stand for files, and it is
    one shard of many runs. The output `checkpoint` of a run is the input `resumes` of the next one;
    "": each begins anew. `deployment` and `dedicated` are clusters, both "" where it gets nodes for
    itself. A job that is `whole` is one that no run does a part of: of a component, or a `job`.
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
    def of(cls, data: Mapping[str, Any]) -> Order:
        """Of JSON data, as `document` writes it."""
        lists = {name: tuple(data.get(name) or ()) for name in ("files", "sizes", "folders")}
        return cls(**{**data, **lists})

    def document(self) -> dict[str, Any]:
        """As JSON data."""
        return asdict(self)

    @property
    def recovery(self) -> RecoveryPolicy:
        """The policy, as a forecast carries it out."""
        switch = Switch(**self.switch) if self.switch is not None else None  # type: ignore[arg-type]
        policy = replace(parse(self.policy), switch=switch)
        if self.checkpoint:
            return replace(policy, resumes=True)
        return replace(policy, shards=len(self.sizes))

    def step_cost(self, files: int, tier: Tier) -> float:
        """What so many files cost on a tier if nothing is lost, in USD."""
        return self.cost(files * self.node_s, tier)

    def cost(self, node_s: float, tier: Tier) -> float:
        """What node-seconds of a tier cost, in USD."""
        price = self.dedicated_price if tier is Tier.DEDICATED else self.low_price
        return node_s * price / HOUR

    def names(self, shard: int) -> tuple[str, ...]:
        """The names of the files of a shard."""
        first = sum(self.sizes[:shard])
        return self.files[first : first + self.sizes[shard]]

    def folder(self, shard: int) -> str:
        """The folder of the workspace's storage to which the files of a shard are sent."""
        return f"{self.upload}/shard-{shard + 1:04}"

    def run_name(self, number: int) -> str:
        """The name of the run with a number, from 0: chosen before the endpoint is called."""
        return self.name if not number else f"{self.name}-{number + 1}"
