"""Billing: the node-seconds in the life of a node or VM, and who pays for them."""

from __future__ import annotations

from math import floor

from mlctl.simulator.engine.state import Cluster, Node, Pool, Vm, World

ROUNDING_S = 1e-9  # so that 59.999999999 s count as a minute


def start(world: World, node: Node) -> None:
    """Bill a node from now on."""
    if node.billed_until is None:
        node.billed_until = node.billed_from = world.now


def bill_until_now(world: World, cluster: Cluster, node: Node) -> None:
    """Bill a node's time up to now."""
    if node.billed_until is not None:
        _add(world, cluster, node, world.now - node.billed_until)
        node.billed_until = world.now


def stop(world: World, cluster: Cluster, node: Node) -> None:
    """Bill a node's time up to now, rounded up to the minimum and down to whole units; stop."""
    if node.billed_until is not None:
        bill_until_now(world, cluster, node)
        _add(world, cluster, node, _rounding(world, world.now - node.billed_from))
        node.billed_until = None


def set_payer(world: World, cluster: Cluster, node: Node, payer: str) -> None:
    """Bill a node to another job from now on; an empty name bills it to the cluster only."""
    bill_until_now(world, cluster, node)
    node.payer = payer


def stop_vm(world: World, pool: Pool, vm: Vm) -> None:
    """Bill the time of a pool's VM, from provisioned to deleted (rule B1), busy or not."""
    if vm.billed_until is not None:
        elapsed = world.now - vm.billed_from
        pool.billed_s += elapsed + _rounding(world, elapsed)
        vm.billed_until = None


def _add(world: World, cluster: Cluster, node: Node, seconds: float) -> None:
    cluster.billed_s += seconds
    if node.payer:
        world.jobs[node.payer].billed_node_s += seconds


def _rounding(world: World, elapsed: float) -> float:
    unit, least = world.settings.billing_granularity_s, world.settings.min_bill_s
    whole = floor(elapsed / unit + ROUNDING_S) * unit if unit else elapsed
    return max(whole, least) - elapsed
