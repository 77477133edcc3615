"""Check whether core quotas suffice for a cluster, by the rule of `mlctl plan` (MLC405)."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl import catalog
from mlctl.backends.ports.backend import Backend, SupportsUsage, Usage
from mlctl.catalog import limits
from mlctl.dataclasses import dataclass
from mlctl.forecast.batch.reading import Subject
from mlctl.kinds.address import Address, Scope
from mlctl.kinds.facts import QuotaRefusal
from mlctl.kinds.values import claims, effective
from mlctl.planning.live_state import LiveState
from mlctl.planning.model import Action, Change
from mlctl.planning.preflight import quota
from mlctl.pointer import Data, Pointer
from mlctl.simulator.engine.model import ClusterSpec, Tier

_REGION = "eastus"  # if no workspace has any
_NOWHERE = Scope("none", "none", "none")
_LOW, _FULL = limits.LOW_PRIORITY_CORES, limits.DEDICATED_CORES
_DOCUMENTED = (
    f"the documents, which give {_LOW[0]} to {_LOW[1]} low-priority and {_FULL[0]} to {_FULL[1]}"
    " dedicated cores, depending on the offer: the larger numbers are used"
)


@dataclass(frozen=True, slots=True)
class Quotas:
    """The quotas of a subject's cluster, and their source, in words."""

    subject: Subject
    state: LiveState
    source: str

    def shortage(self, cluster: ClusterSpec, settings: Mapping[str, Data] = {}) -> str | None:
        """Return what the quota allows, if that is too little for the cluster.

        None also for another size or region (`settings`), whose quota is unknown.
        """
        if {"size", "location"} & settings.keys():
            return None
        resource, live = self.subject.cluster, self.state.live.get(self.subject.cluster.address)
        values: dict[Pointer, Data] = {
            **resource.values,
            ("tier",): cluster.tier.value,
            ("min_instances",): cluster.min_instances,
            ("max_instances",): cluster.max_instances,
        }
        change = Change(resource.address, Action.REPLACE, (), resource, values, live)
        return next((finding.message for finding in quota.exceeded([change], self.state)), None)


def live(subject: Subject, backend: Backend) -> Quotas | None:
    """Read the quotas of a workspace; None if its backend has none."""
    if not isinstance(backend, SupportsUsage):
        return None
    address = subject.cluster.address
    resources = backend.read([address])
    location = str(resources[address].body.get("location") or "") if address in resources else ""
    usage = {
        region: backend.usage(region, names)
        for region, names in _quotas(subject, location or backend.location).items()
    }
    scope = backend.scope
    state = LiveState(
        scope, backend.location, resources, usage, quota_refuses=backend.quota_refuses()
    )
    return Quotas(
        subject, state, f"{scope.resource_group}/{scope.workspace} ({backend.name} backend)"
    )


def documented(subject: Subject) -> Quotas:
    """Return the largest default quotas of a subscription, if no workspace has its own."""
    low, full = _LOW[1], _FULL[1]
    size = catalog.size_of(str(subject.cluster.get("size") or ""))
    limits_ = [Usage(limits.LOW_PRIORITY_QUOTA, 0, low), Usage(limits.DEDICATED_QUOTA, 0, full)]
    if size is not None:
        limits_.append(Usage(size.family, 0, full))
    usage = dict.fromkeys(_quotas(subject, _REGION), limits_)
    nothing: Mapping[Address, Data] = {}
    state = LiveState(_NOWHERE, _REGION, nothing, usage, quota_refuses=QuotaRefusal.MIN)
    return Quotas(subject, state, _DOCUMENTED)


def _quotas(subject: Subject, location: str) -> dict[str, set[str]]:
    """Return the quotas of both tiers, by region."""
    names_by_region: dict[str, set[str]] = {}
    resource, cluster = subject.cluster, subject.scenario.cluster
    for tier in Tier:
        values = {
            **resource.values,
            ("tier",): tier.value,
            ("max_instances",): cluster.max_instances,
        }
        for region, name in claims(resource.kind, effective(values, resource.form), location):
            names_by_region.setdefault(region, set()).add(name)
    return names_by_region
