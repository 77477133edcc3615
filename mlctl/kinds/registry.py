"""Where kinds are found: by name, by what `$schema` says, by their parent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module

from mlctl.kinds.kind import DOCUMENT_NAMES, RUNS, Kind
from mlctl.pointer import Data


class Records(dict[str, Kind]):
    """The records that were asked for, by the names of their kinds."""

    def __missing__(self, name: str) -> Kind:
        """Import the record of a kind."""
        if name not in DOCUMENT_NAMES:
            raise KeyError(name)
        record: Kind = import_module(f"mlctl.kinds.records.{name.replace('-', '_')}").KIND
        self[name] = record
        return record


RECORDS = Records()


class KindsByName(Mapping[str, Kind]):
    """Kinds by their names; the record of one is imported when it is asked for."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)

    def __getitem__(self, name: str) -> Kind:
        if name not in self._names:
            raise KeyError(name)
        return RECORDS[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


# All of them, those that no document declares included.
ALL = KindsByName(DOCUMENT_NAMES)
# What a document can be: a resource of one of the kinds, or a job, which runs once and is none.
DOCUMENTS = KindsByName([name for name, documents in DOCUMENT_NAMES.items() if documents])
KINDS = KindsByName([name for name in DOCUMENTS if name not in RUNS])
_ALL_DOCUMENTS = [document for documents in DOCUMENT_NAMES.values() for document in documents]
_KIND_OF_DOCUMENT = dict(
    zip(
        " ".join(_ALL_DOCUMENTS).casefold().split(),
        [name for name, documents in DOCUMENT_NAMES.items() for _ in documents],
        strict=True,
    )
)


_CONNECTION = ("workspaceConnection", "`az ml connection create` makes one")
_KUBERNETES = "it runs on a cluster of your own; mlctl manages those whose machines Azure runs"
_WORKSPACE = (
    "workspace",
    "Bicep or Terraform makes one, and `mlctl workspace create -f` on the simulated cloud",
)
_IMPORT = ("importJob", "a preview, which `az ml` creates")
_ATTACHED = ("attachedCompute", "`az ml compute attach` attaches one")
# What mlctl checks and leaves to others: by which schema of `others`, and who makes it.
OTHERS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("workspace", "hub", "project"), _WORKSPACE),
    "registry": (
        "registry",
        "`az ml registry create` makes one, and `mlctl registry create -f` on the simulated cloud",
    ),
    "modelpackage": ("modelPackage", "`az ml model package` makes one"),
    **dict.fromkeys(("importjob", "importcomponent"), _IMPORT),
    "workspaceconnection": _CONNECTION,
    "connection": _CONNECTION,
    "featureset": ("featureSet", "`az ml feature-set create` makes one"),
    "featurestore": ("featureStore", "`az ml feature-store create` makes one"),
    "featurestoreentity": ("featureStoreEntity", "`az ml feature-store-entity create` makes one"),
    "kubernetesonlineendpoint": ("kubernetesOnlineEndpoint", _KUBERNETES),
    "kubernetesonlinedeployment": ("kubernetesOnlineDeployment", _KUBERNETES),
    **dict.fromkeys(
        (
            *("kubernetescompute", "kubernetes", "virtualmachinecompute", "virtualmachine"),
            *("vmcompute", "synapsesparkcompute", "synapsespark"),
        ),
        _ATTACHED,
    ),
}
# What a document of one of these has, where no `$schema` says what it is.
_TELLING = (
    ("workspace", {"name", "location", "hub_id"}),
    ("workspace", {"name", "location", "storage_account"}),
    ("workspace", {"name", "location", "managed_network"}),
    ("registry", {"location", "replication_locations"}),
    ("featurestoreentity", {"name", "index_columns"}),
    ("modelpackage", {"target_environment", "inferencing_server"}),
    ("connection", {"name", "type", "target"}),
)


@cache
def children(name: str) -> tuple[Kind, ...]:
    """The kinds whose resources live under one of the kind of that name."""
    return tuple(kind for kind in ALL.values() if kind.parent == name)


@cache
def sharing(name: str) -> tuple[Kind, ...]:
    """The kinds of one collection, the one of that name first: `live_type` tells which it is."""
    return (ALL[name], *(ALL[other] for other in ALL[name].arm.shared_with))


def kind_of_schema(url: str) -> Kind | str | None:
    """The kind of document that a `$schema` names by the file part of its URL, whatever the host.

    The name itself where it is a schema of Azure ML that no kind here covers; None where it names
    no file.
    """
    name = url.strip().rpartition("/")[2].removesuffix(".json").removesuffix(".schema")
    if not name:
        return None
    kind = _KIND_OF_DOCUMENT.get(name.casefold())
    return name if kind is None else ALL[kind]


_OTHER_COMPUTES = ("kubernetes", "virtualmachine", "synapsespark")
_ONLINE = {
    "instance_type",
    "instance_count",
    "scale_settings",
    "request_settings",
    "liveness_probe",
    "readiness_probe",
    "app_insights_enabled",
    "data_collector",
}  # a batch deployment has none at its top level
_ONLINE_KINDS = ("online-endpoint", "online-deployment")
# Endpoints and what is under one; written out, as records are imported when they are used.
AT_ENDPOINTS = ("batch-endpoint", "batch-deployment", *_ONLINE_KINDS)
# How the names of Azure ML's other schemas end (learn.microsoft.com/azure/machine-learning/
# reference-yaml-overview): a document of one of them is never taken for something else.
_OTHER_SCHEMA = (
    r".*(?:job|component|compute|instance|endpoint|deployment|schedule|data|dataset|mltable|file"
    r"|blob|gen[12]|onelake|datastore|registry|workspace|hub|project|connection|featureset"
    r"|featurestore|featurestoreentity|subscription)"
)


def by_schema(data: Mapping[str, Data]) -> Kind | str | None:
    """What `$schema` says: a kind; the name of something else of Azure ML; None for nothing.

    A name that is no schema's is nothing: `az` never looks at the line.
    """
    url = data.get("$schema")
    kind = kind_of_schema(url) if isinstance(url, str) else None
    type_name = str(data.get("type", "")).casefold()
    if isinstance(kind, Kind):
        if type_name == "kubernetes" and kind.name in _ONLINE_KINDS:
            return f"kubernetes{kind.schema_name.removeprefix('managed')}"
        shared = "/compute.schema.json" in str(url)  # of every sort of compute
        if shared and type_name in _KIND_OF_DOCUMENT:
            return ALL[_KIND_OF_DOCUMENT[type_name]]
        return type_name if shared and type_name in _OTHER_COMPUTES else kind
    return kind if kind and re.fullmatch(_OTHER_SCHEMA, kind, re.IGNORECASE) else None


def other_of(data: Mapping[str, Data]) -> str | None:
    """Which of `OTHERS` a document without `$schema` is by its fields; None for something else."""
    kind = str(data.get("type", "")).casefold()
    if kind in _OTHER_COMPUTES and "resource_id" in data:
        return kind
    if kind == "kubernetes":
        return f"{kind}online{'deployment' if 'endpoint_name' in data else 'endpoint'}"
    if kind == "import" and "source" in data:
        return "importjob"
    return next((name for name, keys in _TELLING if keys <= data.keys()), None)


def infer(data: Mapping[str, Data]) -> Kind | None:
    """The one kind that a document's fields speak for; None rather than a guess."""
    kind = str(data.get("type", "")).casefold()
    if data.keys() & {"channels", "dependencies"}:
        return None  # a conda file
    if other_of(data) is not None:
        return None
    # Batch endpoints had `traffic` in the preview of 2021, with `type: batch`.
    online = data.keys() & _ONLINE or ("traffic" in data and kind != "batch")
    names = _ONLINE_KINDS if online else DOCUMENTS
    return next((DOCUMENTS[name] for name in names if DOCUMENTS[name].inferred(data)), None)
