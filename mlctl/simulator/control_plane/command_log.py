"""The log of commands to the event engine, written by the transactions that cause them.

Commands are stored as JSON with the time at which they are due: nodes of a new cluster come when
its operation has ended; nodes of a deleted one go when its operation begins. `replay` carries them
out. This module does not import the engine, which takes longer to load than a write takes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from sqlite3 import Connection

from mlctl.kinds.address import Address, kind_of
from mlctl.kinds.facts import Claims
from mlctl.pointer import Data
from mlctl.simulator.control_plane.resources.behaviours import behaviour_of
from mlctl.simulator.control_plane.resources.checks import claims_of, core_quotas
from mlctl.simulator.control_plane.state.rows import WorkspaceState

CommandData = Mapping[str, Data]


def engine_name(workspace_id: int, name: str) -> str:
    """Return the engine's name of a cluster, pool or job of a workspace: `1/cpu`."""
    return f"{workspace_id}/{name}"


def resource_name(name: str) -> str:
    """Return the name of a cluster, pool or job in its workspace: `cpu`."""
    return name.partition("/")[2]


def append(db: Connection, at: float, command: CommandData, *, quiet: bool = False) -> int:
    """Append a command that is due at `at`, now or later; return its number.

    As long as all commands are `quiet` (no cluster has nodes), `is_active` is false.
    """
    inserted = db.execute(
        "INSERT INTO commands (at, command) VALUES (?, ?)", (at, _encode(command))
    )
    if not quiet:
        db.execute("UPDATE engine SET active = 1 WHERE active = 0")
    return int(inserted.lastrowid or 0)


_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def is_active(db: Connection) -> bool:
    """Whether clusters may have nodes, so that showing one needs the engine."""
    return bool(db.execute("SELECT active FROM engine").fetchone()[0])


def create_command(
    db: Connection,
    state: WorkspaceState,
    address: Address,
    body: Mapping[str, Data],
    claims: Claims | None = None,
) -> CommandData | None:
    """Return the command that creates a cluster or pool from its body; None for other kinds.

    `claims` are what the body takes of the quotas, where that is known already. `replay` resizes a
    cluster or pool that exists.
    """
    create = behaviour_of(kind_of(address)).create_command
    if create is None:
        return None
    command = create(engine_name(state.id, address.name), body, state.price_list())
    quotas = core_quotas(db, state, claims or claims_of(state, address, body))
    return {**command, "spec": {**command["spec"], "quotas": quotas}} if quotas else command


def delete_command(workspace_id: int, address: Address) -> CommandData | None:
    """Return the command that deletes a cluster or pool; None for other kinds."""
    command = behaviour_of(kind_of(address)).delete_command
    return {"is": command, "name": engine_name(workspace_id, address.name)} if command else None


def lock_command(name: str, *, locked: bool) -> CommandData:
    """Return the command that locks or unlocks a cluster."""
    return {"is": "SetLock", "name": name, "locked": locked}


def create_locked_commands(command: CommandData) -> Iterator[CommandData]:
    """The commands that create a locked cluster, before the command that sets its real minimum."""
    if command["is"] == "AddCluster":
        spec = command["spec"]
        yield {**command, "spec": {**spec, "min_instances": 0}}
        yield lock_command(spec["name"], locked=True)


def needs_no_node(command: CommandData) -> bool:
    """Whether a command alone creates no node."""
    return command["is"] != "AddCluster" or not command["spec"]["min_instances"]


def is_shrinking(command: CommandData, old_command: CommandData | None) -> bool:
    """Whether a command reduces a pool's VMs; these are billed until the operation begins."""
    if old_command is None or command["is"] != "AddPool":
        return False
    vms, old_vms = int(command["spec"]["vms"]), int(old_command["spec"]["vms"])
    return vms < old_vms
