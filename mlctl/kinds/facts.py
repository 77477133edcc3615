"""The facts of a kind by topic: Azure, quotas, content, plans, the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from functools import lru_cache
from typing import TypeAlias

from mlctl.dataclasses import dataclass, field
from mlctl.pointer import Data, Pointer

Quota: TypeAlias = tuple[str, str]
"""A quota: the region (`limits.EVERYWHERE`: all of them), and its name there."""


class QuotaRefusal(Enum):
    """What of a cluster must fit the quotas of cores for a service to take it.

    `MIN`: `max(min_instances, 1)` nodes, into the limit. Azure was recorded to take 8 nodes where
    20 of 20 cores were in use, and refuses with `ClusterMinNodesExceedCoreQuota`. `MAX`:
    `max_instances` nodes, into what others leave, as the documentation can be read.
    """

    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class Claim:
    """What a resource takes of one quota.

    `most` counts as in use, whether it is used or not: "unprovisioned nodes contribute to your
    quota usage". Of a cluster's cores, `least` must fit the limit by itself and `node` is what one
    node has; of what is only counted (a number of resources), `least` is None.
    """

    most: int = 1
    least: int | None = None
    node: int = 1

    def is_counted(self, refuses: QuotaRefusal) -> bool:
        """Whether all claims together must fit the limit, not each by itself."""
        return self.least is None or refuses is QuotaRefusal.MAX

    def exceeds(self, previous: Claim, limit: int) -> bool:
        """Whether `least` does not fit the limit; what asks for no more than it held passes."""
        least = self.least or 0
        return least > limit and least > (previous.least or 0)


NOTHING = Claim(0, 0)
Claims: TypeAlias = Mapping[Quota, Claim]


@dataclass(frozen=True, slots=True)
class NodeRange:
    """The nodes of a resource: their VM size, their tier, how many there are at least and at most.

    A node is billed while it is there.
    """

    size: str
    low_priority: bool
    least: int
    most: int


def is_low_priority(tier: Data) -> bool:
    """Whether a tier is low priority, as files or ARM spell it: `low_priority`, `LowPriority`."""
    return _spelled_plainly(str(tier)) == "lowpriority"


@lru_cache(maxsize=64)
def _spelled_plainly(text: str) -> str:
    return text.replace("_", "").casefold()


@dataclass(frozen=True, slots=True)
class Flag:
    """The names of a flag, the field that it gives a value, and its group in help ("": the first).

    `help` takes the place of the field's description.
    """

    names: tuple[str, ...]
    at: Pointer
    panel: str = ""
    help: str = ""

    @property
    def parameter(self) -> str:
        """The name of its parameter."""
        return self.names[0].removeprefix("--").replace("-", "_")


def flag(names: str, at: str, panel: str = "", text: str = "") -> Flag:
    """The flag of names (`--type -t`) for a field (`identity.type`)."""
    return Flag(tuple(names.split()), tuple(at.split(".")), panel, text)


TAGS = flag("--tags", "tags")
DESCRIPTION = flag("--description", "description")


Columns: TypeAlias = Mapping[str, Pointer | Callable[[Mapping[str, Data]], Data]]
Effective: TypeAlias = Callable[[str], Data]
"""The value that the service sees in a field: as written, else its default."""


class UploadTarget(Enum):
    """What local content is uploaded as; it decides which hash names the upload."""

    CODE = "code"
    ASSET = "asset"


def _claim_nothing(_value: Effective, _region: str) -> Claims:
    return {}


def _add_nothing(body: Mapping[str, Data], **_options: bool) -> dict[str, Data]:
    return dict(body)


API_VERSION = "2024-04-01"  # of the machine learning provider


@dataclass(frozen=True, eq=False, kw_only=True)
class ArmFacts:
    """In Azure.

    - `hosted`: whether the collection is ARM's, not one of this project.
    - `tracked`: ARM wants to know its region. `unique_in_region`: its names are, over workspaces.
    - `own_names`: what every workspace has from the start: not written, deleted or exported.
    - `within`: the kind whose collection it is in; `live_type` tells the two from each other.
    - `shared_with`: the kinds that are in its collection.
    - `live_type`: where a live body says its type, and what that is: others share the collection.
    - `patchable`: what a PATCH may name. `patched`: whether a change of nothing else is sent as a
      PATCH, because a PUT would lose what no GET returns.
    - `posted`: what a POST of its own changes, of which name: a PUT does not.
    - `delete_query`: what a DELETE must ask for.
    - `service_fields`: where a body has what only the service writes and no field shows: it is
      neither compared nor written.
    - `unsent`: what is not sent back where it is this: a default of the service, of which no file
      and no recorded client says anything.
    - `container_keys`: properties that all versions of a name share, and their container says.
    - `api_version`: with which it is asked for: the oldest stable one that has all that a PUT must
      not take away.
    - `delay`: what the settings of the simulated cloud call the time that writes take; "" where
      they are done at once.
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

    - `claims`: what a resource takes of which quota; plan and simulated cloud both ask it.
    - `capped`: a limit's name -> the field that it limits in each resource.
    - `limit_per_parent`: how many a parent may have.
    - `has_nodes`: whether it has nodes that can be listed.
    - `nodes`: the number of nodes that it scales between, and what is paid for; None where it has
      none, or where they are unknown (a number that is no number).
    - `vm_size`: the field with its VM size. `scaled_by`: the one with the most nodes that it has.
    """

    claims: Callable[[Effective, str], Claims] = _claim_nothing
    capped: Mapping[str, Pointer] = field(default_factory=dict)
    limit_per_parent: int | None = None
    has_nodes: bool = False
    nodes: Callable[[Effective], NodeRange | None] | None = None
    vm_size: Pointer = ()
    scaled_by: Pointer = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class ContentFacts:
    """Files that a resource names, and what resources made of files or bodies are called.

    - `target`: what local files that it names become. `by_url`: they are named by https.
    - `job`: where a document has a job, or names its file, which it starts while it is enabled.
    - `named_by_path`: whether documents name files of it; such a file of a folder belongs to them.
    - `names_inline`: whether an asset that is written inline in one can have a name of its own.
    - `complete`: adds what the SDK adds to a new body that follows from the rest of it.
    - `anonymous_name`: what one is called that nobody has named; "" where content alone names it.
    - `curated`: what the names of those begin with that the service brings along; "" where none do.
    - `default_version`: the version that means the newest; None where there is none.
    """

    target: UploadTarget = UploadTarget.ASSET
    by_url: bool = False
    job: Pointer = ()
    named_by_path: bool = False
    names_inline: bool = True
    complete: Callable[..., dict[str, Data]] = _add_nothing
    anonymous_name: str = ""
    curated: str = ""
    default_version: str | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class PlanFacts:
    """What a change of a resource means for others.

    - `routes`: the fields that say which children get its requests, the first one first of all;
      `routing` is what people call that.
    - `named_in_jobs`: the keys of a job's body that name one by its id or name; empty where no jobs
      run on it. `ends_jobs`: whether jobs fail when it is deleted.
    - `may_be_renamed`: whether one under another name can take its place.
    - `loss`: what goes with a resource that is destroyed or replaced, as a sentence.
    """

    routes: tuple[Pointer, ...] = ()
    routing: str = ""
    named_in_jobs: tuple[str, ...] = ()
    ends_jobs: bool = False
    may_be_renamed: bool = False
    loss: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class AzFacts:
    """On the command line, as `az ml` has it.

    - `present`: whether `az ml` has it.
    - `asks`: whether az asks before it deletes one.
    - `columns`: those of `-o table`.
    - `printed_forms`: the form of a body -> the one in which az prints it. `printed_empty`: maps
      that az prints also where they are empty.
    - `create_flags`, `update_flags`: fields that have flags; `required_flags`: those without which
      a file is needed.
    - `route_flag`: the flag of `create` that gives it all requests of its parent.
    - `needs_file`: whether `create` needs a file, since flags cannot describe a resource.
    - `list_flags`: fields that `list` can be narrowed by. `limits_lists`: it takes --max-results.
    - `resize_flag`: the field that the command `resize` changes.
    - `sample`: a file of `samples/` and the name in it, for the examples of commands that have
      none of their own.
    - `not_here`: commands of az (`mount`) and flags that mlctl has not, and why.
    """

    present: bool = True
    asks: bool = True
    columns: Columns = field(default_factory=dict)
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
    sample: tuple[str, str] = ("", "")
    not_here: Mapping[str, str] = field(default_factory=dict)
