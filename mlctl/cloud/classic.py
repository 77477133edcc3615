"""Jobs of the classic batch service: on a Batch Pool's VMs, or in the queue that all share."""

from __future__ import annotations

from mlctl.cloud import jobs, journal, orders, runs
from mlctl.cloud.jobs import Known, Row
from mlctl.cloud.service import Place, opened
from mlctl.cloud.sim.commands import SetTenancy, SubmitPoolJob
from mlctl.cloud.sim.model import Tenancy
from mlctl.kinds.address import Address


def submit(place: Place, pool: str | None, duration: float, name: str | None) -> Known:
    """Submit a job that takes one VM for `duration` seconds.

    Raises:
        Refusal: there is no such pool (404), or it asks for what cannot be.
    """
    with journal.turn(place.store) as it:
        world = opened(it.db, place)
        name = name or jobs.new_name(it.db, world, "pooljob")
        there, note = None, {}
        if pool is not None:
            found = jobs.found(it.db, world, Address("batch-pool", pool))
            runs.ensure(it, place, world, found)
            there = orders.name_of(world.workspace, found.address.name)
            note = {"poolName": found.address.name}
        row = Row(name, "Pool", None, None, world.now, note)
        command = SubmitPoolJob(orders.name_of(world.workspace, name), duration, there)
        return jobs.submit(it, world, row, command)


def set_tenancy(place: Place, tenancy: Tenancy) -> None:
    """How the shared queue behaves.

    Raises:
        Refusal: it makes no sense.
    """
    with journal.turn(place.store) as it, jobs.said(0):
        journal.command(it, SetTenancy(tenancy))
