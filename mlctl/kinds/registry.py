"""Where kinds are found: by name, by what `$schema` says, by their parent."""

from __future__ import annotations

from functools import cache

from mlctl.kinds.kind import Kind
from mlctl.kinds.records import RECORDS

# All of them, those that no document declares included.
ALL: dict[str, Kind] = {kind.name: kind for kind in RECORDS}
# What a document can be: a resource of one of the kinds, or a job, which runs once and is none.
DOCUMENTS: dict[str, Kind] = {name: kind for name, kind in ALL.items() if kind.declared}
KINDS: dict[str, Kind] = {name: kind for name, kind in DOCUMENTS.items() if not kind.runs}


_KUBERNETES = (
    "runs on a Kubernetes cluster of your own; mlctl manages those whose machines Azure runs"
)
# Why mlctl has no kind for a schema of Azure ML, where there is more to say than that.
UNMANAGED = {
    "kubernetesonlineendpoint": _KUBERNETES,
    "kubernetesonlinedeployment": _KUBERNETES,
}


@cache
def children(name: str) -> tuple[Kind, ...]:
    """The kinds whose resources live under one of the kind of that name."""
    return tuple(kind for kind in RECORDS if kind.parent == name)


@cache
def sharing(name: str) -> tuple[Kind, ...]:
    """The kinds of one collection, the one of that name first: `live_type` tells which it is."""
    return (ALL[name], *(kind for kind in RECORDS if kind.arm.within == name))


def kind_of_schema(url: str) -> Kind | str | None:
    """The kind of document that a `$schema` names by the file part of its URL, whatever the host.

    The name itself where it is a schema of Azure ML that no kind here covers; None where it names
    no file.
    """
    name = url.strip().rpartition("/")[2].removesuffix(".json").removesuffix(".schema")
    if not name:
        return None
    folded = name.casefold()
    for kind in DOCUMENTS.values():
        if folded in (document.casefold() for document in kind.documents):
            return kind
    return name
