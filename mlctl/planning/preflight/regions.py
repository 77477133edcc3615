"""Clusters in another region than their workspace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mlctl import catalog
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.kinds.address import kind_of
from mlctl.planning.live_state import LiveState, region
from mlctl.planning.model import Change

OTHER_REGION = Rule(
    "MLC414",
    "cluster-in-another-region",
    Severity.WARNING,
    "a new cluster in another region than its workspace",
    "Clusters may stand in another region than their workspace. Network latency and costs of data"
    " transfer may be higher then, when the cluster is made and when jobs run on it.",
    "Leave `location` out to have the workspace's region, unless the quota or the VM size is only"
    " to be had elsewhere.",
    "Create an Azure Machine Learning compute cluster: Limitations",
)


def other(changes: Iterable[Change], live_state: LiveState) -> Iterator[Diagnostic]:
    """New clusters whose region is not the workspace's."""
    workspace_region = catalog.region(live_state.location)
    for change in changes:
        if not (
            change.action.creates and change.resource and kind_of(change.address).quota.has_nodes
        ):
            continue
        place = region(change.resource, None, workspace_region)
        if place != workspace_region:
            yield Diagnostic(
                OTHER_REGION,
                f"the cluster is in {place} and its workspace in {workspace_region}: data that goes"
                " from one to the other takes longer and may cost more",
                change.resource.label(("location",)),
                hint=f"leave `location` out, or write {workspace_region}",
                address=str(change.address),
            )
