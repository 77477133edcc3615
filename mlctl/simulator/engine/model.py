"""Specifications of clusters, jobs and pools, and the settings of a simulated cloud.

Times are seconds of virtual time, rates are per hour, prices are per node-hour. Every default has a
source: `S` is stated by Microsoft's pages about low priority, Batch Pool and compute clusters, or
by hi-ml's page about low-priority VMs; `D` is documented elsewhere by Azure; `A` is an assumption.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

from mlctl.dataclasses import dataclass, field, fields

HOUR = 3600.0
PREEMPTION_WARNING = "Low priority compute preemption warning: a node has been preempted."


class Tier(Enum):
    """The priority of a cluster's VMs ("Per-job configuration isn't possible")."""

    DEDICATED = "dedicated"
    LOW_PRIORITY = "low_priority"


class QueueEnd(Enum):
    """The end of the queue that a mini-batch returns to."""

    HEAD = "head"
    TAIL = "tail"


class SingleNode(Enum):
    """Whose last node's loss cancels a batch job (R7a): the job's, or the cluster's.

    "In the cases where the entire cluster is preempted or running on a single-node cluster, the job
    is cancelled".
    """

    CLUSTER = "cluster"
    JOB = "job"


class PreemptedJob(Enum):
    """How a batch job ends that has no capacity left (R7).

    FAILED has been seen as well, with "PreemptionError: Nodes of this job got pre-empted"
    (Azure/MachineLearningNotebooks#1242, MicrosoftDocs/azure-docs#66288).
    """

    CANCELED = "canceled"
    FAILED = "failed"


def _setting(default: Any, source: str, why: str) -> Any:
    return field(default=default, metadata={"source": source, "why": why})


@dataclass(frozen=True, slots=True)
class SimulationSettings:
    """How the simulated cloud behaves where no resource specifies it."""

    allocation_s: float = _setting(180.0, "A", "from asking for a node to having it")
    preparation_s: float = _setting(60.0, "A", "from having a node to its being ready")
    replacement_s: float | None = _setting(
        None, "A", "from finding capacity for a preempted node to having it; None: allocation_s"
    )
    delay_cv: float = _setting(0.0, "A", "coefficient of variation of those three (log-normal)")
    replace: bool = _setting(default=True, source="S", why="lost capacity is replaced (R4)")
    leave_s: float = _setting(0.0, "A", "from deciding to give a node back to its being gone")
    p_unusable: float = _setting(0.0, "A", "the chance that a prepared node turns out unusable")
    unusable_recycle_s: float = _setting(600.0, "A", "how long an unusable node stays, and bills")
    restore_window_h: float = _setting(48.0, "D", "how long Azure Batch tries to restore a node")
    cancel_when_preempted: bool = _setting(
        default=True, source="S", why="a batch job that lost its last usable node is cancelled (R7)"
    )
    single_node: SingleNode = _setting(
        SingleNode.CLUSTER,
        "S",
        "cluster: R7 cancels a job when no node of its cluster is left; job: when none of its own",
    )
    preempted_job_ends: PreemptedJob = _setting(
        PreemptedJob.CANCELED, "S", "how R7 ends a job; failed has been seen, with PreemptionError"
    )
    release_idle_nodes: bool = _setting(
        default=False,
        source="A",
        why="nodes without work go while their batch job runs; else held until it completes",
    )
    first_task_creation_timeout_s: float = _setting(
        600.0, "D", "a batch job fails without a mini-batch so long after its start; 0: never"
    )
    progress_update_timeout_s: float | None = _setting(
        None, "D", "a batch job fails standing still so long; None: max(600, tries x timeout), A"
    )
    cancel_grace_s: float = _setting(0.0, "A", "how long R7 waits for a usable node (R7c)")
    retries_are_tries: bool = _setting(
        default=True, source="D", why="max_retries counts the first attempt too (R9, SDK)"
    )
    preemption_counts_as_try: bool = _setting(
        default=False, source="A", why="an attempt that a preemption cut off is a try (R8, open)"
    )
    failed_goes_to: QueueEnd = _setting(
        QueueEnd.TAIL, "A", "where a failed mini-batch queues (R10)"
    )
    preempted_goes_to: QueueEnd = _setting(
        QueueEnd.HEAD, "A", "where a lost mini-batch queues (R10)"
    )
    training_auto_restart: bool = _setting(
        default=True, source="S", why="a preempted training job is assigned a VM again (T5, hi-ml)"
    )
    reject_excess_instances: bool = _setting(
        default=False,
        source="A",
        why="refuse instance_count > max_instances, not run with max (R3)",
    )
    bill_allocating: bool = _setting(
        default=False, source="A", why="bill a node from asking for it (a pool is not, B1)"
    )
    min_bill_s: float = _setting(0.0, "A", "the least that a node bills each time it is up")
    billing_granularity_s: float = _setting(1.0, "A", "only whole units are billed; 0: exactly")
    provisioning_s: float = _setting(180.0, "A", "from asking for a pool's VM to having it")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A setting or default as shown to users; `source` is S, D or A."""

    name: str
    value: object
    source: str
    why: str


def parameters(settings: SimulationSettings) -> Iterator[Parameter]:
    """Every assumption: the current settings, then the defaults of fields left out."""
    for slot in fields(settings):
        metadata = slot.metadata
        yield Parameter(
            slot.name, getattr(settings, slot.name), metadata["source"], metadata["why"]
        )
    yield from _RESOURCE_DEFAULTS


_RESOURCE_DEFAULTS = (
    Parameter("tier", "dedicated", "D", "AmlCompute YAML reference"),
    Parameter("min_instances", 0, "D", "AmlCompute YAML reference"),
    Parameter("max_instances", 4, "D", "the Python SDK sends 4; AmlCompute YAML reference: 1"),
    Parameter("idle_time_before_scale_down", 120, "D", "AmlCompute YAML reference, seconds"),
    Parameter("instance_count", 1, "D", "batch deployment YAML reference"),
    Parameter("max_concurrency_per_instance", 1, "D", "batch deployment YAML reference"),
    Parameter("mini_batch_size", 10, "D", "batch deployment YAML reference"),
    Parameter("max_retries", 3, "D", "batch deployment YAML reference"),
    Parameter("timeout", 30, "D", "batch deployment YAML reference, seconds; SDK v1 has 60"),
    Parameter("error_threshold", -1, "D", "batch deployment YAML reference; -1 ignores failures"),
    Parameter(
        "price", None, "A", "of size, region and tier; never guessed: a cost without one is unknown"
    ),
)


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """An AmlCompute cluster, with the defaults of the AmlCompute YAML schema (D).

    `idle_s` is the idle time before scale-down. `price` is per node-hour of the tier, None if
    unknown; what only plans a cluster has that of a dedicated node there, and beside it the
    `low_priority_price`. An `ephemeral` cluster is deleted when its last job ends (serverless
    compute).
    `quotas` are the core quotas that its nodes count against, each with its limit where none has
    been set yet.
    """

    name: str
    tier: Tier = Tier.DEDICATED
    min_instances: int = 0
    max_instances: int = 1
    idle_s: float = 120.0
    cores: int = 4
    price: float | None = None
    region: str = ""
    ephemeral: bool = False
    quotas: tuple[tuple[str, int], ...] = ()
    low_priority_price: float | None = None


@dataclass(frozen=True, slots=True)
class BatchWork:
    """How long mini-batches take (seconds) and how often an attempt fails.

    A node that comes to the job takes `per_start_s` until it can work: image, `init()`. Each
    mini-batch has one service time, which a rerun repeats. `trace` lists the service times in
    order and starts again at its end. Without a trace, a mini-batch takes `per_mini_batch_s` plus
    `per_file_s` per file, times a log-normal factor of mean 1 and coefficient of variation `cv`.
    """

    per_file_s: float = 0.0
    per_mini_batch_s: float = 0.0
    cv: float = 0.0
    fail_probability: float = 0.0
    trace: tuple[float, ...] = ()
    per_start_s: float = 0.0

    def seconds_of(self, files: int) -> float:
        """How long a mini-batch of so many files takes, without a trace, on average."""
        return self.per_mini_batch_s + files * self.per_file_s


@dataclass(frozen=True, slots=True)
class BatchSpec:
    """A batch scoring job over `files` files, with the defaults of the YAML reference (D).

    `error_threshold` counts failed files over the whole input; -1 ignores every failure.
    """

    name: str
    cluster: str
    files: int
    workload: BatchWork
    mini_batch_size: int = 10
    instance_count: int = 1
    concurrency: int = 1
    max_retries: int = 3
    timeout_s: float = 30.0
    error_threshold: int = -1

    @property
    def mini_batches(self) -> int:
        """The number of mini-batches."""
        return -(-self.files // self.mini_batch_size)

    def files_in(self, batch: int) -> int:
        """The number of files in a mini-batch; the last one has the rest."""
        return min(self.mini_batch_size, self.files - batch * self.mini_batch_size)

    @property
    def longest_s(self) -> float:
        """How long a full mini-batch takes, on average; of a trace, the longest."""
        return max(self.workload.trace, default=0.0) or self.workload.seconds_of(self.files_in(0))


@dataclass(frozen=True, slots=True)
class TrainingSpec:
    """A training job of equal steps that runs on `instance_count` nodes at once.

    A checkpoint is written after every `checkpoint_every` steps (0: never). It takes `checkpoint_s`
    and counts once it is complete; restarting from it takes `restore_s`. A serverless job has an
    empty `cluster` and brings its own cluster, `serverless`. The job is cancelled `max_runtime_s`
    after its first start. With `fail_probability` it fails after its last step.
    """

    name: str
    steps: int
    step_s: float
    cluster: str = ""
    serverless: ClusterSpec | None = None
    checkpoint_every: int = 0
    checkpoint_s: float = 0.0
    restore_s: float = 0.0
    instance_count: int = 1
    max_runtime_s: float | None = None
    fail_probability: float = 0.0


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """A member of a group: a job that begins once the members `after` it needs have completed.

    A batch job on serverless compute gets a cluster of its `own`. A `reused` member runs nothing:
    it completes when its turn has come.
    """

    spec: TrainingSpec | BatchSpec | GroupSpec
    after: tuple[str, ...] = ()
    own: ClusterSpec | None = None
    reused: bool = False


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """A job that is made of others: a pipeline of steps, a sweep of trials.

    At most `at_once` members run at a time (None: any number). If one does not complete, those that
    need it are cancelled, and unless `goes_on` all others too. The group has completed if all its
    members have, or with `any_will_do` if one has. It is cancelled `max_runtime_s` after its start.
    """

    name: str
    members: tuple[MemberSpec, ...]
    at_once: int | None = None
    goes_on: bool = True
    any_will_do: bool = False
    max_runtime_s: float | None = None


@dataclass(frozen=True, slots=True)
class PoolSpec:
    """A Batch Pool of the classic service; its VMs are billed from provisioned to deleted."""

    name: str
    vms: int
    price: float | None = None


@dataclass(frozen=True, slots=True)
class SharedQueueSettings:
    """The shared queue of classic batch processing: it runs `slots` jobs of all users at once.

    Jobs of other users arrive as a Poisson process, `arrivals` per hour, with exponential durations
    of mean `mean_s` seconds (A: no figures are published).
    """

    slots: int = 4
    arrivals: float = 0.0
    mean_s: float = HOUR
