"""Specifications of clusters, jobs and pools, and the settings of a simulated cloud.

Times are seconds of virtual time, rates are per hour, prices are per node-hour. Every default has a
source: `S` is stated by Microsoft's pages about low priority, Batch Pool and compute clusters, or
by hi-ml's page about low-priority VMs; `D` is documented elsewhere by Azure; `A` is an assumption.
"""

from __future__ import annotations

from enum import Enum

from mlctl.dataclasses import dataclass

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
    """How a batch job without any remaining capacity ends (R7).

    FAILED has been seen as well, with "PreemptionError: Nodes of this job got pre-empted"
    (Azure/MachineLearningNotebooks#1242, MicrosoftDocs/azure-docs#66288).
    """

    CANCELED = "canceled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class SimulationSettings:
    """How the simulated cloud behaves if no resource specifies it.

    `simulator/parameters.csv` explains each setting and the origin of its default.
    """

    allocation_s: float = 180.0
    preparation_s: float = 60.0
    replacement_s: float | None = None
    delay_cv: float = 0.0
    replace: bool = True
    leave_s: float = 0.0
    p_unusable: float = 0.0
    unusable_recycle_s: float = 600.0
    restore_window_h: float = 48.0
    cancel_when_preempted: bool = True
    single_node: SingleNode = SingleNode.CLUSTER
    preempted_job_ends: PreemptedJob = PreemptedJob.CANCELED
    release_idle_nodes: bool = False
    first_task_creation_timeout_s: float = 600.0
    progress_update_timeout_s: float | None = None
    cancel_grace_s: float = 0.0
    retries_are_tries: bool = True
    preemption_counts_as_try: bool = False
    failed_goes_to: QueueEnd = QueueEnd.TAIL
    preempted_goes_to: QueueEnd = QueueEnd.HEAD
    training_auto_restart: bool = True
    reject_excess_instances: bool = False
    bill_allocating: bool = False
    min_bill_s: float = 0.0
    billing_granularity_s: float = 1.0
    provisioning_s: float = 180.0


@dataclass(frozen=True, slots=True)
class Parameter:
    """A setting or default as shown to users; `source` is S, D or A."""

    name: str
    value: object
    source: str
    why: str


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
    after its first start. With `fail_probability` it fails after its last step. It goes on from a
    checkpoint of `first` steps that an earlier job has left.
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
    first: int = 0


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
