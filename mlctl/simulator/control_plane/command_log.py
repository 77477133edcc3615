"""What writes to clusters and pools order of the event engine, as it reads its commands.

Nodes come when the operation has ended, and go when it begins. The engine itself is not needed to
write an order down (`journal` carries them out), and loading it would take longer than the writing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from sqlite3 import Connection

from mlctl.kinds.address import Address, kind_of
from mlctl.pointer import Data
from mlctl.simulator.control_plane.resources.behaviours import behaviour_of

CommandData = Mapping[str, Data]


def engine_name(workspace: int, name: str) -> str:
    """What a cluster, pool or job of a workspace is called in the engine: `1/cpu`."""
    return f"{workspace}/{name}"


def resource_name(name: str) -> str:
    """What a cluster, pool or job of the engine is called in its workspace."""
    return name.partition("/")[2]


def append(db: Connection, at: float, order: CommandData, *, quiet: bool = False) -> int:
    """Write down what the engine is to do at a moment that has not passed; the order's number.

    As long as all orders are `quiet`, nobody needs to look at the engine to show a cluster.
    """
    made = db.execute("INSERT INTO orders (at, command) VALUES (?, ?)", (at, _encode(order)))
    if not quiet:
        db.execute("UPDATE engine SET awake = 1 WHERE awake = 0")
    return int(made.lastrowid or 0)


_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def is_active(db: Connection) -> bool:
    """Whether there was an order that clusters may show something of."""
    return bool(db.execute("SELECT awake FROM engine").fetchone()[0])


def create_command(
    workspace: int, address: Address, body: Mapping[str, Data]
) -> CommandData | None:
    """The order to have a cluster or pool as its body says; None for other kinds.

    One of that name that is there already is resized.
    """
    create = behaviour_of(kind_of(address)).create_command
    return create(engine_name(workspace, address.name), body) if create else None


def delete_command(workspace: int, address: Address) -> CommandData | None:
    """The order to have a cluster or pool no more; None for other kinds."""
    what = behaviour_of(kind_of(address)).delete_command
    return {"is": what, "name": engine_name(workspace, address.name)} if what else None


def lock_command(name: str, *, locked: bool) -> CommandData:
    """The order that a cluster of the engine stands still, or no longer does."""
    return {"is": "SetLock", "name": name, "locked": locked}


def create_locked_commands(order: CommandData) -> Iterator[CommandData]:
    """What to order before a new cluster beneath a lock: it stands before it wants any node."""
    if order["is"] == "AddCluster":
        spec = order["spec"]
        yield {**order, "spec": {**spec, "min_instances": 0}}
        yield lock_command(spec["name"], locked=True)


def needs_no_node(order: CommandData) -> bool:
    """Whether an order changes nothing that a cluster shows, where all before it were quiet."""
    return order["is"] != "AddCluster" or not order["spec"]["min_instances"]


def is_shrinking(order: CommandData, before: CommandData | None) -> bool:
    """Whether a pool is to have fewer VMs: their bill ends when the resizing begins."""
    if before is None or order["is"] != "AddPool":
        return False
    vms, had = int(order["spec"]["vms"]), int(before["spec"]["vms"])
    return vms < had
