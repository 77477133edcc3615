"""Write resources: choose between PUT and PATCH, wait out refusals and deletes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlctl import pointer
from mlctl.backends.azure import errors
from mlctl.backends.azure.arm import ArmClient, AzureOperation
from mlctl.backends.azure.errors import answers_decoded
from mlctl.backends.azure.reads import (
    LiveResources,
    ResourceReader,
    resource_path,
    run_concurrently,
)
from mlctl.kinds import children, codec, kind_of
from mlctl.kinds.address import Address, Scope
from mlctl.kinds.field import Mutability
from mlctl.kinds.values import decode, form_of_body, moving
from mlctl.pointer import Data
from mlctl.service_errors import NotFound, ServiceError, Transient

_DELETE_POLL_S = 2.0  # seconds between two polls of a resource that is being deleted
_BUSY_POLL_S = 10.0  # ... of an endpoint with another running operation
_QUIET_S, _LONGEST_QUIET_S = 5.0, 60.0  # before the next write if none is seen to run


class ResourceWriter:
    """Writes the resources of one workspace; remembers what was last read of them."""

    def __init__(self, arm: ArmClient, scope: Scope, reader: ResourceReader) -> None:
        self._arm = arm
        self._scope = scope
        self._reader = reader
        self._seen: LiveResources = {}
        self._refused: dict[Address, tuple[float, int]] = {}  # until when, and how often

    def remember(self, live_by_address: LiveResources) -> None:
        """Remember what was read, which decides between PATCH and PUT."""
        self._seen.update(live_by_address)

    def put(
        self, address: Address, body: Mapping[str, Data], location: Callable[[], str]
    ) -> AzureOperation:
        """Create or overwrite, in the body's region, else in that of the workspace.

        Raises:
            ServiceError: the service refuses.
        """
        kind, sent = kind_of(address), dict(body)
        at, etag = resource_path(address, self._scope), sent.pop("etag", None)
        changed = self._changed(address, body) if kind.arm.patched or kind.arm.posted else set()
        for wire, action in kind.arm.posted:
            if wire in changed:
                setting = {wire[-1]: pointer.get(body, wire)}
                posted = self._begin(address, "POST", f"{at}/{action}", setting)
                if len(changed) == 1:
                    return posted
                posted.wait()
        patchable = [wire for wire in changed for at in kind.arm.patchable if wire[: len(at)] == at]
        if kind.arm.patched and changed and changed <= {*patchable}:
            patch: dict[str, Data] = {}
            for wire in kind.arm.patchable:
                pointer.put(patch, wire, pointer.get(body, wire))
            return self._begin(address, "PATCH", at, patch, etag=etag)
        if kind.arm.tracked and not sent.get("location"):
            sent["location"] = location()
        try:
            return self._begin(address, "PUT", at, sent, etag=etag)
        except NotFound as error:
            raise errors.name_in_use(error) from None

    def delete(self, address: Address) -> DeleteOperation:
        """Delete, with everything beneath; raises NotFound if there is nothing to delete."""
        query, at = kind_of(address).arm.delete_query, resource_path(address, self._scope)
        running = self._begin(address, "DELETE", at, **query)
        if running.about_nothing:
            raise NotFound("ResourceNotFound", f"The resource `{address}` was not found.")
        return DeleteOperation(self._arm, at, running)

    def _begin(
        self, address: Address, method: str, at: str, body: Data = None, **options: Any
    ) -> AzureOperation:
        """Start a write."""
        try:
            version = kind_of(address).arm.api_version
            operation = self._arm.begin(method, at, body, version=version, **options)
        except ServiceError as error:
            endpoint = address.up or address
            if not (children(endpoint.kind) and errors.endpoint_is_busy(error)):
                raise
            raise self._once_quiet(address, endpoint, error) from None
        self._refused.pop(address, None)
        return operation

    def _once_quiet(self, address: Address, endpoint: Address, error: ServiceError) -> ServiceError:
        """Return a write's refusal once nothing at the endpoint is running; no retry would help.

        "When an operation is already in progress, any new operation on that same online endpoint
        responds with a 409" (how-to-troubleshoot-online-endpoints); it was seen for a while after
        the endpoint had said Succeeded (azure-sdk-for-net#36961).
        """
        clock = self._arm.clock
        deadline, quiet = self._refused.get(address, (clock.deadline(), 0))
        moved = False
        while self._is_moving(endpoint):
            moved = True
            if clock.now() > deadline:
                return clock.overdue(f"another operation on {endpoint}")
            clock.pause(_BUSY_POLL_S)
        self._refused[address] = deadline, 0 if moved else quiet + 1
        if clock.now() > deadline:
            return clock.overdue(f"another operation on {endpoint}")
        return Transient(
            error.code,
            error.message,
            status=error.status,
            target=error.target,
            details=error.details,
            request_id=error.request_id,
            retry_after=min(_QUIET_S * 2**quiet, _LONGEST_QUIET_S),
            outlasted=moved,
        )

    def _is_moving(self, endpoint: Address) -> bool:
        """Whether an operation is running on an endpoint or on anything under it."""
        try:
            beneath = [
                live
                for kind in children(endpoint.kind)
                for live in self._reader.every(kind.name, endpoint.name)
            ]
        except NotFound:
            beneath = []
        return any(
            moving(live.body)
            for live in (
                *beneath,
                *run_concurrently(self._reader.questions([endpoint]))[0].values(),
            )
        )

    def _changed(self, address: Address, body: Mapping[str, Data]) -> set[pointer.Pointer]:
        """Return where a body differs from what was last read; nowhere if nothing was read."""
        live = self._seen.get(address)
        if live is None:
            return set()
        form = form_of_body(kind_of(address), body, self._scope)
        desired, previous = (
            decode(values_of, form, self._scope) for values_of in (body, live.body)
        )
        return {
            field.wire
            for field in form.fields
            if field.compared
            and field.mutability is not Mutability.READ_ONLY
            and codec.differ(desired.get(field.at), previous.get(field.at), field, self._scope)
        }


class DeleteOperation:
    """A delete operation, which ends when the resource is gone."""

    def __init__(self, arm: ArmClient, at: str, running: AzureOperation) -> None:
        self._arm = arm
        self._at = at
        self._running = running
        self.created = False

    @answers_decoded()
    def wait(self) -> None:
        """Return when the resource is no longer found: only then its name is free.

        Raises:
            ServiceError: the delete failed, or took too long.
        """
        deadline = self._arm.clock.deadline()
        self._running.wait()
        while self._arm.find(self._at) is not None:
            if self._arm.clock.now() > deadline:
                raise self._arm.clock.overdue(f"DELETE {self._at}")
            self._arm.clock.pause(_DELETE_POLL_S)
