"""Jobs of the classic batch service: on a Batch Pool's VMs, or in the shared queue."""

from __future__ import annotations

from mlctl.kinds.address import Address
from mlctl.simulator.control_plane import command_log, replay
from mlctl.simulator.control_plane.jobs import batch_jobs, records
from mlctl.simulator.control_plane.jobs.records import JobRecord, JobRow
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle, ensure_workspace
from mlctl.simulator.engine.commands import SetSharedQueue, SubmitPoolJob
from mlctl.simulator.engine.model import SharedQueueSettings


def submit(
    workspace: WorkspaceHandle, pool: str | None, duration: float, name: str | None
) -> JobRecord:
    """Submit a job that takes one VM for `duration` seconds.

    Raises:
        ServiceError: there is no such pool (404), or the request is not valid.
    """
    with replay.transaction(workspace.store) as transaction:
        state = ensure_workspace(transaction.db, workspace)
        name = name or records.new_name(transaction.db, state, "pooljob")
        pool_name, note = None, {}
        if pool is not None:
            resource = records.require_resource(transaction.db, state, Address("batch-pool", pool))
            batch_jobs.ensure_in_engine(transaction, state, resource)
            pool_name = command_log.engine_name(state.id, resource.address.name)
            note = {"poolName": resource.address.name}
        row = JobRow(name, "Pool", None, None, state.now, note)
        command = SubmitPoolJob(command_log.engine_name(state.id, name), duration, pool_name)
        return records.submit(transaction, state, row, command)


def set_tenancy(workspace: WorkspaceHandle, tenancy: SharedQueueSettings) -> None:
    """How the shared queue behaves.

    Raises:
        ServiceError: it makes no sense.
    """
    with replay.transaction(workspace.store) as transaction, records.translate_refusals(0):
        replay.run_command(transaction, SetSharedQueue(tenancy))
