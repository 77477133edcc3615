"""Look up kinds by name, by `$schema`, by parent, by content."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

from mlctl.kinds.kind import DOCUMENT_NAMES, RUNS, Kind
from mlctl.pointer import Data


class Records(dict[str, Kind]):
    """The loaded records by kind."""

    def __missing__(self, name: str) -> Kind:
        """Import the record of a kind."""
        if name not in DOCUMENT_NAMES:
            raise KeyError(name)
        record: Kind = import_module(f"mlctl.kinds.records.{name.replace('-', '_')}").KIND
        self[name] = record
        return record


RECORDS = Records()


class KindsByName(Mapping[str, Kind]):
    """Kinds by name; a record is imported when it is first needed."""

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


# All kinds, including those that no document declares.
ALL = KindsByName(DOCUMENT_NAMES)
# What a document can be: a resource of one of the kinds, or a job.
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


# Fields by which a document of `others` is recognized if it has no `$schema`.
_TELLING = (
    ("workspace", {"name", "location", "hub_id"}),
    ("workspace", {"name", "location", "storage_account"}),
    ("workspace", {"name", "managed_network"}),
    ("registry", {"location", "replication_locations"}),
    ("featurestoreentity", {"name", "index_columns"}),
    ("modelpackage", {"target_environment", "inferencing_server"}),
    ("connection", {"name", "type", "target"}),
)


@cache
def others() -> Mapping[str, tuple[str, str]]:
    """Return what mlctl only checks, by lower-cased name: its schema, and how to create it."""
    import tomllib  # noqa: PLC0415 - few folders have such files

    text = Path(__file__).with_name("others.toml").read_text(encoding="utf-8")
    return {
        name: (schema, row["instead"])
        for schema, row in tomllib.loads(text).items()
        for name in row["names"]
    }


@cache
def children(name: str) -> tuple[Kind, ...]:
    """Return the kinds whose parent is the kind of that name."""
    return tuple(kind for kind in ALL.values() if kind.parent == name)


@cache
def sharing(name: str) -> tuple[Kind, ...]:
    """Return the kinds of one collection, the given one first; `live_type` tells them apart."""
    return (ALL[name], *(ALL[other] for other in ALL[name].arm.shared_with))


@cache
def arm_type(name: str) -> str:
    """Return a kind's type in a workspace of ARM: `batchEndpoints/deployments`."""
    kind = ALL[name]
    return f"{arm_type(kind.parent)}/{kind.collection}" if kind.parent else kind.collection


def kind_of_schema(url: str) -> Kind | str | None:
    """Return the kind that a `$schema` URL names by its file, whatever the host.

    The name itself if it is a schema of Azure ML that mlctl does not cover; None if the URL names
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
}  # a batch deployment has no `type` at the top
_ONLINE_KINDS = ("online-endpoint", "online-deployment")
# Endpoints and their children; listed here because records are imported on demand.
AT_ENDPOINTS = ("batch-endpoint", "batch-deployment", *_ONLINE_KINDS)
# How the names of Azure ML's other schemas end (learn.microsoft.com/azure/machine-learning/
# reference-yaml-overview): such a document is never mistaken for something else.
_OTHER_SCHEMA = (
    r".*(?:job|component|compute|instance|endpoint|deployment|schedule|data|dataset|mltable|file"
    r"|blob|gen[12]|onelake|datastore|registry|workspace|hub|project|connection|featureset"
    r"|featurestore|featurestoreentity|subscription)"
)


def by_schema(data: Mapping[str, Data]) -> Kind | str | None:
    """Return the kind that `$schema` names, another schema name of Azure ML, or None.

    A name that is not a schema's counts as none: `az` ignores the line.
    """
    url = data.get("$schema")
    kind = kind_of_schema(url) if isinstance(url, str) else None
    type_name = str(data.get("type", "")).casefold()
    if isinstance(kind, Kind):
        if type_name == "kubernetes" and kind.name in _ONLINE_KINDS:
            return f"kubernetes{kind.schema_name.removeprefix('managed')}"
        shared = "/compute.schema.json" in str(url)  # of every kind of compute
        if shared and type_name in _KIND_OF_DOCUMENT:
            return ALL[_KIND_OF_DOCUMENT[type_name]]
        return type_name if shared and type_name in _OTHER_COMPUTES else kind
    return kind if kind and re.fullmatch(_OTHER_SCHEMA, kind, re.IGNORECASE) else None


def other_of(data: Mapping[str, Data]) -> str | None:
    """Return which of `others` the fields of a document without `$schema` fit, or None."""
    kind = str(data.get("type", "")).casefold()
    if kind in _OTHER_COMPUTES and "resource_id" in data:
        return kind
    if kind == "kubernetes":
        return f"{kind}online{'deployment' if 'endpoint_name' in data else 'endpoint'}"
    if kind == "import" and "source" in data:
        return "importjob"
    return next((name for name, keys in _TELLING if keys <= data.keys()), None)


def infer(data: Mapping[str, Data]) -> Kind | None:
    """Return the only kind that the document's fields fit; None rather than a guess."""
    kind = str(data.get("type", "")).casefold()
    if data.keys() & {"channels", "dependencies"}:
        return None  # it is a conda file
    if other_of(data) is not None:
        return None
    # Batch endpoints had `traffic` in the preview of 2021, with `type: batch`.
    online = data.keys() & _ONLINE or ("traffic" in data and kind != "batch")
    names = _ONLINE_KINDS if online else DOCUMENTS
    return next((DOCUMENTS[name] for name in names if DOCUMENTS[name].inferred(data)), None)
