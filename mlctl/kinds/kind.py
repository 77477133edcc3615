"""A kind of resource: one record of all that is true of every resource of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from mlctl import schema
from mlctl.kinds.claim import Claims
from mlctl.kinds.field import Field, Form, read_forms
from mlctl.kinds.flags import Flag
from mlctl.kinds.nodes import NodeRange
from mlctl.kinds.upload import UploadTarget
from mlctl.pointer import Data, Pointer
from mlctl.schema import Schema

Columns: TypeAlias = Mapping[str, Pointer]
Effective: TypeAlias = Callable[[str], Data]
"""The value that the service sees in a field: as written, else its default."""


def _claims_nothing(_value: Effective, _region: str) -> Claims:
    return {}


def _never(_data: Mapping[str, Data]) -> bool:
    return False


def _as_it_is(body: Mapping[str, Data], **_how: bool) -> dict[str, Data]:
    return dict(body)


@dataclass(frozen=True, eq=False, kw_only=True)
class Kind:
    """The facts of a kind. Those of single fields (required, default, mutability) are its schema's.

    Identity:

    - `documents`: the names that `$schema` may give; none where no document declares the kind.
    - `collection`: its collection in ARM. `parent`: the kind that it lives under, and `parent_key`
      the field that names the parent.
    - `versioned`: whether a resource is one of many versions under a name (an asset).
    - `runs`: whether a document of the kind describes a run, not a resource.
    - `steps`: where a document has the steps of a pipeline; () where it never has any.
    - `not_run`: of which forms a run is checked and not submitted, and why.
    - `given`: the schema, where it is not a file.
    - `inferred`: whether a document without `$schema` is of the kind, by its content.

    In Azure:

    - `az`: whether `az ml` has it.
    - `in_arm`: whether the collection is ARM's, not one of this project.
    - `tracked`: ARM wants to know its region. `unique_in_region`: its names are, over workspaces.
    - `within`: the kind whose collection it is in; `live_type` tells the two from each other.
    - `live_type`: where a live body says its type, and what that is: others share the collection.
    - `patchable`: what a PATCH may name. `patched`: whether a change of nothing else is sent as a
      PATCH, because a PUT would lose what no GET tells.
    - `delete_query`: what a DELETE must ask for.
    - `own`: where a body has what only the service writes and no field shows: it is neither
      compared nor written.
    - `limit_per_parent`: how many a parent may have.
    - `container_keys`: properties that all versions of a name share, and their container says.
    - `routes`: the fields that say which children get its requests, the first one first of all;
      `routing` is what people call that.

    Quotas and nodes:

    - `claims`: what a resource takes of which quota; plan and simulated cloud both ask it.
    - `capped`: a limit's name -> the field that it limits in each resource.
    - `has_nodes`: whether it has nodes that can be listed.
    - `nodes`: the number of nodes that it scales between, and what is paid for; None where it has
      none, or where they cannot be told (a number that is no number).
    - `vm_size`: the field with its VM size. `scaled_by`: the one with the most nodes that it has.
    - `delay`: what the settings of the simulated cloud call the time that writes take; "" where
      they are done at once.

    Content and plans:

    - `content`: what local files that it names become. `content_by_url`: they are named by https.
    - `named_by_path`: whether documents name files of it; such a file of a folder belongs to them.
    - `names_inline`: whether an asset that is written inline in one can have a name of its own.
    - `completed`: what the SDK adds to a new body that follows from the rest of it.
    - `anonymous_name`: what one is called that nobody has named; "" where content alone names it.
    - `curated`: what the names of those begin with that the service brings along; "" where none do.
    - `default_version`: the version that means the newest; None where there is none.
    - `named_in_jobs`: the keys of a job's body that name one by its id or name; empty where no jobs
      run on it. `ends_jobs`: whether jobs fail when it is deleted.
    - `may_be_renamed`: whether one under another name can take its place.
    - `lost`: what goes with a resource that is destroyed or replaced, as a sentence.

    The command line:

    - `columns`: those of `-o table`.
    - `printed_forms`: the form of a body -> the one in which az prints it. `printed_empty`: maps
      that az prints also where they are empty.
    - `create_flags`, `update_flags`: fields that have flags; `required_flags`: those without which
      a file is needed.
    - `routed_by`: the flag of `create` that gives it all requests of its parent.
    - `needs_file`: whether `create` takes no resource that is said by flags alone.
    - `list_flags`: fields that `list` can be narrowed by. `limits_lists`: it takes --max-results.
    - `resize_flag`: the field that the command `resize` changes.
    - `sample`: a file of `samples/` and the name in it, for the examples of commands that have
      none of their own.
    - `not_here`: commands of az (`mount`) and flags (`create --web`) that mlctl has not, and why.
    """

    name: str
    schema_name: str
    collection: str
    documents: tuple[str, ...] = ()
    parent: str | None = None
    parent_key: str = "endpoint_name"
    versioned: bool = False
    runs: bool = False
    steps: Pointer = ()
    not_run: Mapping[str, str] = field(default_factory=dict)
    given: Schema | None = None
    inferred: Callable[[Mapping[str, Data]], bool] = _never

    az: bool = True
    in_arm: bool = True
    tracked: bool = False
    unique_in_region: bool = False
    within: str = ""
    live_type: tuple[Pointer, str] | None = None
    patchable: tuple[Pointer, ...] = (("tags",),)
    patched: bool = False
    delete_query: Mapping[str, str] = field(default_factory=dict)
    own: tuple[Pointer, ...] = ()
    limit_per_parent: int | None = None
    container_keys: tuple[str, ...] = ()
    routes: tuple[Pointer, ...] = ()
    routing: str = ""

    claims: Callable[[Effective, str], Claims] = _claims_nothing
    capped: Mapping[str, Pointer] = field(default_factory=dict)
    has_nodes: bool = False
    nodes: Callable[[Effective], NodeRange | None] | None = None
    vm_size: Pointer = ()
    scaled_by: Pointer = ()
    delay: str = ""

    content: UploadTarget = UploadTarget.ASSET
    content_by_url: bool = False
    named_by_path: bool = False
    names_inline: bool = True
    completed: Callable[..., dict[str, Data]] = _as_it_is
    anonymous_name: str = ""
    curated: str = ""
    default_version: str | None = None
    named_in_jobs: tuple[str, ...] = ()
    ends_jobs: bool = False
    may_be_renamed: bool = False
    lost: str = ""

    columns: Columns = field(default_factory=dict)
    printed_forms: Mapping[str, str] = field(default_factory=dict)
    printed_empty: tuple[str, ...] = ()
    create_flags: tuple[Flag, ...] = ()
    update_flags: tuple[Flag, ...] = ()
    required_flags: tuple[str, ...] = ("name",)
    routed_by: Flag | None = None
    needs_file: bool = False
    list_flags: tuple[Flag, ...] = ()
    limits_lists: bool = False
    resize_flag: Flag | None = None
    sample: tuple[str, str] = ("", "")
    not_here: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def schema(self) -> Schema:
        """The JSON Schema of the kind's documents."""
        return self.given or schema.load(self.schema_name)

    @cached_property
    def forms(self) -> tuple[Form, ...]:
        """The shapes that a document can have; the last one takes what the others do not."""
        return tuple(read_forms(self.schema))

    @property
    def title(self) -> str:
        """What people call one: `batch endpoint`."""
        return str(self.schema["title"]).lower()

    @property
    def retired_service(self) -> str | None:
        """Why Azure takes no resource of the kind any more; None where it does.

        Only the local backend does then (`x-mlctl-retired-service`).
        """
        return self.schema.get("x-mlctl-retired-service")

    @property
    def updates_by_file(self) -> bool:
        """Whether `update` takes a file, as az has it: not of assets, nor where `live_type` is."""
        return not self.versioned and self.live_type is None

    @property
    def declared(self) -> bool:
        """Whether documents declare it; others come of the files that documents name."""
        return bool(self.documents)

    @property
    def takes_time(self) -> bool:
        """Whether a write goes on after it was accepted."""
        return bool(self.delay)

    @cached_property
    def route_fields(self) -> tuple[Field, ...]:
        """The fields of `routes`; each refers to the kind of the children."""
        found = (self.forms[-1].field(at) for at in self.routes)
        return tuple(one for one in found if one is not None)

    @cached_property
    def references(self) -> tuple[tuple[Pointer, str], ...]:
        """Where a body names other resources by their ids, and of which kinds these are."""
        found = {
            (*one.wire, "assetId") if one.codec == "asset" else one.wire: one.refers_to
            for form in self.forms
            for one in form.fields
            if one.refers_to and one.codec in ("asset", "reference")
        }
        return tuple(found.items())

    @cached_property
    def needed(self) -> tuple[tuple[Pointer, ...], ...]:
        """What the schema requires of a body: of each choice of places, one must hold something.

        A place is at most two steps deep: an object in `properties`, not what is in it.
        """
        usual = self.forms[-1].schema
        anyway = [[name] for name in usual.get("required", ())]
        either = [name for one in usual.get("anyOf", ()) for name in one.get("required", ())]
        places = [
            tuple({one.wire[:2]: None for one in self.forms[-1].fields if one.at[0] in names})
            for names in (*anyway, either)
        ]
        return tuple(choice for choice in places if choice)

    def form_of(self, data: Data) -> Form:
        """The form of a document."""
        return next((form for form in self.forms if form.holds(data)), self.forms[-1])
