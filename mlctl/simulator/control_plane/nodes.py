"""Nodes of clusters, as ARM shows them."""

from __future__ import annotations

from collections.abc import Iterable

from mlctl.dataclasses import dataclass
from mlctl.digests import uuid_of
from mlctl.kinds.address import Address, kind_of
from mlctl.pointer import Data
from mlctl.simulator.control_plane import command_log, replay
from mlctl.simulator.control_plane.state import clock, rows
from mlctl.simulator.control_plane.state.context import StoredResource
from mlctl.simulator.control_plane.state.errors import missing
from mlctl.simulator.control_plane.state.rows import WorkspaceState
from mlctl.simulator.control_plane.state.store import Store
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle
from mlctl.simulator.engine import views
from mlctl.simulator.engine.state import NodeState
from mlctl.simulator.engine.views import NodeCounts, NodeView


def add_node_counts(store: Store, workspace_id: int, resources: Iterable[StoredResource]) -> None:
    """Add the node counts and the allocation state to the bodies of clusters."""
    with replay.current(store) as world:
        for resource in resources:
            name = command_log.engine_name(workspace_id, resource.address.name)
            if kind_of(resource.address).quota.has_nodes and name in world.clusters:
                inner = resource.body["properties"]["properties"]
                inner |= _allocation(views.counts(world, name))


@dataclass(frozen=True, slots=True)
class NodeInformation:
    """A node as ARM lists it; `port` is the SSH port of the cluster's load balancer."""

    id: str
    state: str
    private_ip: str
    public_ip: str | None
    port: int
    job: str | None


def find_cluster(
    workspace: WorkspaceHandle, cluster: Address
) -> tuple[WorkspaceState, StoredResource, str]:
    """Return a cluster of a workspace, with the engine's name of it.

    Raises:
        ServiceError: there is no such cluster (404).
    """
    with workspace.store.read() as db:
        state = workspace.state(db)
        resource = rows.find(db, state.id, cluster)
    if resource is None:
        raise missing(cluster)
    return state, resource, command_log.engine_name(state.id, resource.address.name)


def list_nodes(workspace: WorkspaceHandle, cluster: Address) -> list[NodeInformation]:
    """List the nodes of a cluster, without allocating ones."""
    state, resource, name = find_cluster(workspace, cluster)
    with replay.current(workspace.store) as world:
        node_views = views.nodes(world, name) if name in world.clusters else []
    public = resource.body["properties"]["properties"].get("enableNodePublicIp", True)
    return [
        _node_information(view, f"{state.seed}/node/{name}", public=public)
        for view in node_views
        if view.state is not NodeState.ALLOCATING
    ]


def node_state_counts(counts: NodeCounts) -> dict[str, int]:
    """Return the counters of ARM's `nodeStateCounts`."""
    return {
        "idle": counts.idle,
        "running": counts.running,
        "preparing": counts.preparing,
        "unusable": counts.unusable,
        "leaving": counts.leaving,
        "preempted": counts.preempted,
    }


_PORTS = 50_000  # where the load balancer's ports for SSH begin


def _node_information(node: NodeView, key: str, *, public: bool) -> NodeInformation:
    low, high = node.number % 250 + 4, node.number // 250  # Azure keeps the first four of a subnet
    return NodeInformation(
        f"tvmps_{uuid_of(f'{key}/{node.number}').replace('-', '')}_{node.number}",
        node.state.name.lower(),
        f"10.0.{high}.{low}",
        f"20.0.{high}.{low}" if public else None,
        _PORTS + node.number,
        command_log.resource_name(node.job) if node.job else None,
    )


def _allocation(counts: NodeCounts) -> dict[str, Data]:
    return {
        "allocationState": "Resizing" if counts.resizing else "Steady",
        "allocationStateTransitionTime": clock.iso(counts.since),
        "currentNodeCount": counts.current,
        "targetNodeCount": counts.target,
        "nodeStateCounts": {
            f"{state}NodeCount": count for state, count in node_state_counts(counts).items()
        },
    }
