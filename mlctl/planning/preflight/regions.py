"""Check new resources in their region: taken names, distant data, expensive Spot VMs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mlctl import catalog
from mlctl.catalog.prices import own_prices
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.kinds import kind_of
from mlctl.kinds.values import effective
from mlctl.planning.live_state import LiveState, region
from mlctl.planning.model import Change

OTHER_REGION = Rule("MLC414", "cluster-in-another-region", Severity.WARNING)

SAVES_NOTHING = Rule("MLC419", "spot-saves-nothing", Severity.WARNING)
_SAVES = 0.8  # of the dedicated price: above it, Spot is not worth losing nodes


def spot(changes: Iterable[Change], live_state: LiveState) -> Iterator[Diagnostic]:
    """Yield new low-priority clusters that save almost nothing."""
    for change in changes:
        resource, kind = change.resource, kind_of(change.address)
        if not change.action.creates or resource is None or kind.quota.nodes is None:
            continue
        nodes = kind.quota.nodes(effective(resource.values, resource.form))
        if nodes is None or not nodes.low_priority:
            continue
        place = region(resource, None, live_state.location)
        price = (live_state.prices or own_prices()).price(nodes.size, place)
        if price.spot is None or not price.dedicated or price.spot < _SAVES * price.dedicated:
            continue
        saved = (price.dedicated - price.spot) * nodes.most
        message = (
            f"low priority saves {saved:.2f} USD an hour on {nodes.most} nodes of `{nodes.size}` in"
            f" {place}: {price.spot:g} USD a node as Spot, {price.dedicated:g} dedicated"
        )
        hint = "write tier: dedicated, or take another size or region"
        yield change.finding(SAVES_NOTHING, message, resource.label(("tier",)), hint)


def other(changes: Iterable[Change], live_state: LiveState) -> Iterator[Diagnostic]:
    """Yield new clusters whose region is not the workspace's."""
    workspace_region = catalog.region(live_state.location)
    for change in changes:
        if not (
            change.action.creates and change.resource and kind_of(change.address).quota.has_nodes
        ):
            continue
        place = region(change.resource, None, workspace_region)
        if place != workspace_region:
            message = (
                f"the cluster is in {place}, but its workspace in {workspace_region}: transfers"
                " between them are slower and may cost more"
            )
            hint = f"remove `location`, or write {workspace_region}"
            label = change.resource.label(("location",))
            yield change.finding(OTHER_REGION, message, label, hint)


NAME_TAKEN = Rule("MLC406", "name-taken", Severity.ERROR)


def taken(changes: Iterable[Change], live_state: LiveState) -> Iterator[Diagnostic]:
    """Yield names of new resources that are taken in the region."""
    for change in changes:
        holder = live_state.taken.get(change.address)
        if holder is not None and change.action.creates and change.resource:
            message = f"the name `{change.address.name}` is taken in its region: {holder}"
            hint = "choose another name; if Azure accepts it anyway, pass --ignore MLC406"
            yield change.finding(NAME_TAKEN, message, change.resource.label(("name",)), hint)
