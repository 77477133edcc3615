"""The facts of a kind by topic: Azure, quotas, content, plans, command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import TypeAlias

from mlctl.dataclasses import dataclass, field
from mlctl.pointer import Data, Pointer

Quota: TypeAlias = tuple[str, str]
"""A quota: the region (`limits.EVERYWHERE`: all of them), and its name there."""


class QuotaRefusal(Enum):
    """How much of a cluster must fit the core quotas for the service to accept it.

    `MIN`: `max(min_instances, 1)` nodes, against the limit. Azure was recorded to accept 8 nodes
    when 20 of 20 cores were in use, and refuses with `ClusterMinNodesExceedCoreQuota`. `MAX`:
    `max_instances` nodes, against what others leave, as the documentation can be read.
    """

    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class Claim:
    """A resource's share of one quota.

    `most` counts as in use even if idle: "unprovisioned nodes contribute to your quota usage". Of a
    cluster's cores, `least` must fit the limit by itself and `node` is per node; `least` is None
    for plain counts (a number of resources).
    """

    most: int = 1
    least: int | None = None
    node: int = 1

    def is_counted(self, refuses: QuotaRefusal) -> bool:
        """Whether all claims must fit the limit together, rather than each by itself."""
        return self.least is None or refuses is QuotaRefusal.MAX

    def exceeds(self, previous: Claim, limit: int) -> bool:
        """Whether `least` does not fit the limit; claims that do not grow always pass."""
        least = self.least or 0
        return least > limit and least > (previous.least or 0)


NOTHING = Claim(0, 0)
Claims: TypeAlias = Mapping[Quota, Claim]


@dataclass(frozen=True, slots=True)
class NodeRange:
    """The nodes of a resource: VM size, tier, minimum and maximum.

    A node is billed as long as it exists.
    """

    size: str
    low_priority: bool
    least: int
    most: int


def is_low_priority(tier: Data) -> bool:
    """Whether a tier is low priority, as files or ARM spell it (`low_priority`, `LowPriority`)."""
    return _spelled_plainly(str(tier)) == "lowpriority"


@lru_cache(maxsize=64)
def _spelled_plainly(text: str) -> str:
    return text.replace("_", "").casefold()


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag: its names, its field, and its group in help ("": the first).

    `help` replaces the field's description.
    """

    names: tuple[str, ...]
    at: Pointer
    panel: str = ""
    help: str = ""

    @property
    def parameter(self) -> str:
        """The name of its parameter."""
        return self.names[0].removeprefix("--").replace("-", "_")


Compute: TypeAlias = Callable[[Mapping[str, Data]], Data]
"""The function of a value in a row of a table."""
Columns: TypeAlias = Mapping[str, Pointer | Compute]
Effective: TypeAlias = Callable[[str], Data]
"""The value that the service sees in a field: as written, else its default."""


class UploadTarget(Enum):
    """What local content is uploaded as; it decides which hash names the upload."""

    CODE = "code"
    ASSET = "asset"


API_VERSION = "2024-04-01"  # of the machine learning provider


@dataclass(frozen=True, eq=False, kw_only=True)
class ArmFacts:
    """Facts about Azure.

    - `hosted`: whether the collection is ARM's, rather than this project's.
    - `tracked`: whether ARM needs a region. `unique_in_region`: whether names are, across
      workspaces.
    - `own_names`: resources of every new workspace, which are not written, deleted or exported.
    - `within`: the kind whose collection it shares; `live_type` distinguishes the two.
    - `shared_with`: the kinds that share its collection.
    - `live_type`: where a live body has its type, and which; others share the collection.
    - `patchable`: what a PATCH may contain. `patched`: whether a change of only these is sent as a
      PATCH, because a PUT would lose what no GET returns.
    - `posted`: what its own POST changes, by name, rather than a PUT.
    - `delete_query`: the query of a DELETE.
    - `service_fields`: places that only the service writes and no field shows: they are neither
      compared nor written.
    - `unsent`: values that are not sent back: service defaults that no file and no recorded client
      sets.
    - `container_keys`: properties that all versions of a name share, in their container.
    - `api_version`: the oldest stable one with everything that a PUT must preserve.
    - `delay`: the simulated cloud's setting for how long writes take; "" if none.
    """

    hosted: bool = True
    tracked: bool = False
    unique_in_region: bool = False
    own_names: tuple[str, ...] = ()
    within: str = ""
    shared_with: tuple[str, ...] = ()
    live_type: tuple[Pointer, str] | None = None
    patchable: tuple[Pointer, ...] = (("tags",),)
    patched: bool = False
    posted: tuple[tuple[Pointer, str], ...] = ()
    delete_query: Mapping[str, str] = field(default_factory=dict)
    service_fields: tuple[Pointer, ...] = ()
    unsent: Mapping[Pointer, Data] = field(default_factory=dict)
    container_keys: tuple[str, ...] = ()
    api_version: str = API_VERSION
    delay: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class QuotaFacts:
    """Quotas and nodes.

    - `claims`: a resource's share of each quota, for plans and the simulated cloud.
    - `capped`: limit name -> the field that it caps in each resource.
    - `limit_per_parent`: how many a parent may have.
    - `has_nodes`: whether its nodes can be listed.
    - `nodes`: the range of nodes that it scales in and pays for; None if it has none, or the number
      is invalid.
    - `vm_size`: the field with its VM size. `scaled_by`: the one with its maximum of nodes.
    """

    claims: Callable[[Effective, str], Claims] = lambda _value, _region: {}
    capped: Mapping[str, Pointer] = field(default_factory=dict)
    limit_per_parent: int | None = None
    has_nodes: bool = False
    nodes: Callable[[Effective], NodeRange | None] | None = None
    vm_size: Pointer = ()
    scaled_by: Pointer = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class ContentFacts:
    """Files that a resource names, and the names of resources made from files or bodies.

    - `target`: what local files become. `by_url`: whether they are referred to by https. - `job`:
    where a document has a job, or its file, which it starts while enabled. - `named_by_path`:
    whether documents name its files; such a file in a folder belongs to them. - `names_inline`:
    whether an inline asset can have its own name. - `complete`: adds to a new body what the SDK
    derives from the rest of it. - `anonymous_name`: the name of anonymous assets; "" if their
    content alone names them. - `curated`: the prefix of names that the service provides; "" if
    none. - `default_version`: the version that means the newest; None if there is none.
    """

    target: UploadTarget = UploadTarget.ASSET
    by_url: bool = False
    job: Pointer = ()
    named_by_path: bool = False
    names_inline: bool = True
    complete: Callable[..., dict[str, Data]] = lambda body, **_: dict(body)
    anonymous_name: str = ""
    curated: str = ""
    default_version: str | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class PlanFacts:
    """What a change of a resource means for others.

    - `routes`: the fields that say which children get its requests, the main one first; `routing`
      is their name for people.
    - `named_in_jobs`: the keys of a job's body that name it by id or name; empty if no jobs run on
      it. `ends_jobs`: whether jobs fail when it is deleted.
    - `may_be_renamed`: whether one under another name can replace it.
    - `loss`: what is lost with a resource that is destroyed or replaced, as a sentence.
    """

    routes: tuple[Pointer, ...] = ()
    routing: str = ""
    named_in_jobs: tuple[str, ...] = ()
    ends_jobs: bool = False
    may_be_renamed: bool = False
    loss: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class AzFacts:
    """The kind on the command line, as `az ml` has it.

    - `present`: whether `az ml` has it.
    - `asks`: whether az asks before deleting.
    - `table`: the heads of `-o table`, each with its place: `Name State=provisioning_state`; what
      has no place is a row's value under its head in lower case, or `computed` from the row.
    - `printed_forms`: the form of a body -> the one in which az prints it. `printed_empty`: maps
      that az prints even if empty.
    - `create_flags`, `update_flags`: fields with flags; `required_flags`: those without which a
      file is needed.
    - `route_flag`: the flag of `create` that sends it all requests of its parent.
    - `needs_file`: whether `create` needs a file, because flags cannot describe a resource.
    - `list_flags`: fields that filter `list`. `limits_lists`: whether it has --max-results.
    - `resize_flag`: the field that `resize` changes.
    - `sample`: a file of `samples/` and a name in it, for examples of commands without their own.
    """

    present: bool = True
    asks: bool = True
    table: str = ""
    computed: Mapping[str, Compute] = field(default_factory=dict)
    printed_forms: Mapping[str, str] = field(default_factory=dict)
    printed_empty: tuple[str, ...] = ()
    create_flags: tuple[Flag, ...] = ()
    update_flags: tuple[Flag, ...] = ()
    required_flags: tuple[str, ...] = ("name",)
    route_flag: Flag | None = None
    needs_file: bool = False
    list_flags: tuple[Flag, ...] = ()
    limits_lists: bool = False
    resize_flag: Flag | None = None
    sample: tuple[str, ...] = ("", "")

    @classmethod
    def of(cls, kind: str, computed: Mapping[str, Compute]) -> AzFacts:
        """Read the facts of a kind in `az.toml`, which few commands need."""
        row = {key: _typed(key, value) for key, value in _az_table().get(kind, {}).items()}
        return cls(**row, computed=computed)

    @cached_property
    def columns(self) -> Columns:
        """The columns of `-o table`: by head, the place or the function of a row's value."""
        heads = (word.partition("=") for word in self.table.split())
        return {
            head: self.computed.get(head) or tuple((place or head.casefold()).split("."))
            for head, _, place in heads
        }


@cache
def _az_table() -> Mapping[str, Mapping[str, Data]]:
    import tomllib  # noqa: PLC0415 - few commands need it

    return tomllib.loads(Path(__file__).with_name("az.toml").read_text(encoding="utf-8"))


def _typed(key: str, value: Data) -> Data:
    """Return a value of `az.toml` as `AzFacts` has it: flags are lists of texts there."""
    if key.endswith("_flag"):
        names, at, *texts = value
        return Flag(tuple(names.split()), tuple(at.split(".")), *texts)
    if key.endswith("_flags") and key != "required_flags":
        return tuple(_typed("_flag", row) for row in value)
    return tuple(value) if isinstance(value, list) else value
