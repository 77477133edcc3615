"""How the providers of the service tell of long-running operations, as recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Protocol:
    """The form of a kind's operations.

    - `status`, `result`: the path segments of the URLs of `Azure-AsyncOperation` and `Location`.
    - `prefix`: what a public id begins with, before the workspace's and the operation's own; ""
      where that is the operation's own alone.
    - `query`: what the URLs ask for, beside the api-version.
    - `running`: the word for an operation that goes on.
    - `headers`: further headers of an answer that begins an operation.
    - `locates`: whether `Location` is told, too: of a PUT the resource, of a DELETE the result.
    - `overwritten`: the status of a PUT over what is there.
    - `shows`: what a status holds, beside the word: `id` and `name`, `percentComplete` at the end.
    """

    status: str = "mfeOperationsStatus"
    result: str = "mfeOperationResults"
    prefix: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    running: str = "Updating"
    headers: Mapping[str, str] = field(
        default_factory=lambda: {"x-ms-async-operation-timeout": "PT30M"}
    )
    locates: bool = True
    overwritten: int = 200
    shows: frozenset[str] = frozenset({"id", "name"})


_USUAL = Protocol()
PROTOCOLS: Mapping[str, Protocol] = {
    "compute": Protocol(
        status="computeOperationsStatus",
        result="computeOperationsResults",
        query={"service": "new"},
        running="InProgress",
        headers={},
        locates=False,
        overwritten=201,
        shows=frozenset({"percentComplete"}),
    ),
    "batch-endpoint": Protocol(prefix="bebes"),
    "batch-deployment": Protocol(prefix="bdbes", overwritten=201),
}


def protocol_of(kind: str) -> Protocol:
    """The protocol of a kind."""
    return PROTOCOLS.get(kind, _USUAL)
