"""A kind of resource: the record of its facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

from mlctl import schema
from mlctl.dataclasses import dataclass, field
from mlctl.kinds.facts import ArmFacts, AzFacts, Compute, ContentFacts, PlanFacts, QuotaFacts
from mlctl.kinds.field import Field, Form, read_forms
from mlctl.pointer import Data, Pointer
from mlctl.schema import Schema


@dataclass(frozen=True, eq=False, kw_only=True)
class Kind:
    """The facts of a kind. Facts of single fields (required, default, mutability) are its schema's.

    - `collection`: its collection in ARM. `parent`: the kind that contains it; `parent_key` is the
      field that names the parent.
    - `versioned`: whether a name has versions (an asset).
    - `steps`: where a document has the steps of a pipeline; () if it never does.
    - `not_run`: the forms whose runs are checked but not submitted, and why.
    - `inline_schema`: the schema, if it is not a file.
    - `inferred`: whether a document without `$schema` is of the kind, judged by its content.
    - `computed`: columns of tables that are computed from a row.
    """

    name: str
    schema_name: str
    collection: str
    parent: str | None = None
    parent_key: str = "endpoint_name"
    versioned: bool = False
    steps: Pointer = ()
    not_run: Mapping[str, str] = field(default_factory=dict)
    inline_schema: Schema | None = None
    inferred: Callable[[Mapping[str, Data]], bool] = lambda _data: False

    arm: ArmFacts = ArmFacts()
    quota: QuotaFacts = QuotaFacts()
    content: ContentFacts = ContentFacts()
    plan: PlanFacts = PlanFacts()
    computed: Mapping[str, Compute] = field(default_factory=dict)

    @cached_property
    def az(self) -> AzFacts:
        """The kind on the command line."""
        return AzFacts.of(self.name, self.computed)

    @cached_property
    def schema(self) -> Schema:
        """The JSON Schema of the kind's documents."""
        return self.inline_schema or schema.load(self.schema_name)

    @cached_property
    def forms(self) -> tuple[Form, ...]:
        """The shapes of a document; the last one matches all that others do not."""
        return tuple(read_forms(self.schema))

    @property
    def title(self) -> str:
        """The kind's name for people: `batch endpoint`."""
        return str(self.schema["title"]).lower()

    @property
    def retired_service(self) -> str | None:
        """Why Azure no longer accepts the kind; None if it does.

        Only the local backend has it then (`x-mlctl-retired-service`).
        """
        return self.schema.get("x-mlctl-retired-service")

    @property
    def updates_by_file(self) -> bool:
        """Whether `update` takes a file, as in az: not for assets, nor with an `arm.live_type`."""
        return not self.versioned and self.arm.live_type is None

    @cached_property
    def documents(self) -> tuple[str, ...]:
        """The names that `$schema` may give; none if no document declares the kind."""
        return DOCUMENT_NAMES.get(self.name, ())

    @cached_property
    def runs(self) -> bool:
        """Whether a document of the kind describes a run, not a resource."""
        return self.name in RUNS

    @property
    def declared(self) -> bool:
        """Whether documents declare it; other kinds are made from files that documents name."""
        return bool(self.documents)

    @property
    def takes_time(self) -> bool:
        """Whether a write continues after it was accepted."""
        return bool(self.arm.delay)

    @cached_property
    def route_fields(self) -> tuple[Field, ...]:
        """The fields of `plan.routes`; each refers to the kind of the children."""
        fields = (self.forms[-1].field(at) for at in self.plan.routes)
        return tuple(field for field in fields if field is not None)

    @cached_property
    def references(self) -> tuple[tuple[Pointer, str], ...]:
        """Where a body names other resources by id, and their kinds."""
        wires = {
            (*field.wire, "assetId") if field.codec == "asset" else field.wire: field.refers_to
            for form in self.forms
            for field in form.fields
            if field.refers_to and field.codec in ("asset", "reference")
        }
        return tuple(wires.items())

    def form_of(self, data: Data) -> Form:
        """Return the form of a document."""
        return next((form for form in self.forms[:-1] if form.holds(data)), self.forms[-1])


# In the order of lists and help: the `$schema` names of the kind's documents, if any declares it.
DOCUMENT_NAMES: Mapping[str, tuple[str, ...]] = {
    "compute": ("amlCompute", "compute"),
    "compute-instance": ("computeInstance",),
    "batch-endpoint": ("batchEndpoint",),
    "batch-deployment": (
        "batchDeployment",
        "modelBatchDeployment",
        "pipelineComponentBatchDeployment",
    ),
    "online-endpoint": ("managedOnlineEndpoint", "onlineEndpoint"),
    "online-deployment": ("managedOnlineDeployment", "onlineDeployment"),
    "model": ("model",),
    "environment": ("environment",),
    "data": ("data",),
    "datastore": (
        "datastore",
        "azureBlob",
        "azureFile",
        "azureDataLakeGen1",
        "azureDataLakeGen2",
        "oneLake",
    ),
    "component": (
        "component",
        "commandComponent",
        "pipelineComponent",
        "parallelComponent",
        "sparkComponent",
    ),
    "code": (),
    "batch-pool": ("batchPool",),
    "job": ("commandJob", "pipelineJob", "sweepJob", "sparkJob", "autoMLJob"),
    "schedule": ("schedule", "monitorSchedule"),
}
# What runs once, and is not a resource.
RUNS = ("job",)
