"""Health checks between a caller and a workspace of Azure, in order of dependency."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeAlias

from mlctl import catalog
from mlctl.backends.azure import errors
from mlctl.backends.azure.arm import ArmClient, path_of
from mlctl.backends.azure.capacity import usage
from mlctl.backends.azure.reads import workspace_path
from mlctl.backends.ports.backend import Usage
from mlctl.backends.ports.monitor import HealthCheck, HealthStatus
from mlctl.catalog.tables import retired_versions
from mlctl.kinds import KINDS
from mlctl.kinds.address import PROVIDER, Scope
from mlctl.kinds.registry import arm_type
from mlctl.pointer import Data, get
from mlctl.schema.text import counted
from mlctl.service_errors import ServiceError

OK, INFO, WARNING, FAILED, SKIPPED = HealthStatus  # in the order of its definition
# Versions of the other providers that are read: the newest stable ones of their documentation.
_LOCKS, _PERMISSIONS, _PROVIDERS = "2020-05-01", "2022-04-01", "2021-04-01"
_SKEW, _BAD_SKEW = 60.0, 300.0  # seconds; Microsoft Entra ID allows five minutes
_NEARLY = 0.9  # of a quota
_TYPES = ("computes", "batchEndpoints", "batchEndpoints/deployments", "models", "environments")
# Who may do what: https://learn.microsoft.com/azure/machine-learning/how-to-assign-roles
_ROLES = {**dict.fromkeys(_TYPES, "AzureML Data Scientist"), "computes": "AzureML Compute Operator"}
Body = Mapping[str, Data]
# Of a check: its status, what was found, and what to do about it.
_Result: TypeAlias = tuple[HealthStatus, str] | tuple[HealthStatus, str, str]


class HealthChecker:
    """Checks one workspace with one credential."""

    def __init__(self, arm: ArmClient, scope: Scope, now: float) -> None:
        self._arm = arm
        self._scope = scope
        self._now = now
        self._location = ""

    def checks(self) -> Iterator[HealthCheck]:
        """Run all checks; those that depend on a failed one are skipped."""
        lacking = None
        looks = (self._credentials, self._workspace, self._clock, self._provider)
        further_checks = (self._permissions, self._locks, self._clusters, self._quota)
        for name, look in zip(_NAMES, (*looks, *further_checks), strict=True):
            if lacking is not None:
                yield HealthCheck(name, SKIPPED, f"needs {lacking}")
                continue
            for check in _results(name, look):
                yield check
                if name in _VITAL and check.status is FAILED:
                    lacking = name

    def _credentials(self) -> Iterator[_Result]:
        with errors.sdk_errors_decoded():
            token = self._arm.credential.get_token(f"{self._arm.base}/.default")
        ends = datetime.fromtimestamp(token.expires_on, UTC)
        caller = _caller_of(token.token)
        yield OK, f"{caller}; the token ends at {ends:%Y-%m-%d %H:%M} UTC"

    def _workspace(self) -> Iterator[_Result]:
        body = self._arm.get(workspace_path(self._scope))
        self._location = catalog.region(body.get("location"))
        state = str(get(body, ("properties", "provisioningState"), "unknown"))
        is_fine = state.casefold() in ("succeeded", "unknown")
        status = OK if is_fine else WARNING
        yield status, f"{self._scope.workspace} in {self._location}, {state}"
        if str(body.get("kind")).casefold() == "hub":
            yield WARNING, "it is a hub, which cannot have clusters or online endpoints", _NO_HUB

    def _clock(self) -> Iterator[_Result]:
        date = self._arm.date(workspace_path(self._scope))
        if date is None:
            yield SKIPPED, "the service does not report its time"
            return
        skew = self._now - parsedate_to_datetime(date).timestamp()
        result = f"{abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} Azure's"
        if abs(skew) < _SKEW:
            yield OK, result
            return
        advice = "set this machine's clock (timedatectl set-ntp true): tokens are refused otherwise"
        yield FAILED if abs(skew) > _BAD_SKEW else WARNING, result, advice

    def _provider(self) -> Iterator[_Result]:
        path = path_of("subscriptions", self._scope.subscription, "providers", PROVIDER)
        body = self._arm.get(path, _PROVIDERS)
        state = str(body.get("registrationState"))
        if state.casefold() != "registered":
            yield FAILED, f"{PROVIDER} is {state}", f"az provider register -n {PROVIDER}"
            return
        types = body.get("resourceTypes") or ()
        offered = {str(part.get("resourceType")): part.get("apiVersions") or () for part in types}
        versions = _versions_by_type()
        used = [f"{name}@{version}" for name, version in versions.items()]
        for row in retired_versions():
            if any(re.search(row.pattern, type_and_version) for type_and_version in used):
                yield WARNING, f"retired since {row.date}: {row.name}", "upgrade mlctl"
                return
        lacking = [
            f"{name} {version}"
            for name, version in versions.items()
            if version not in offered.get(f"workspaces/{name}", ())
        ]
        if lacking:
            result = f"an api-version is not offered: {', '.join(lacking)}"
            yield WARNING, result, "this cloud may need another mlctl"
            return
        stable = [name for names in offered.values() for name in names if "preview" not in name]
        ours = " and ".join(sorted({*versions.values()}))
        retired = ", ".join(f"{row.name} ({row.date})" for row in retired_versions())
        newest = max(stable, default="unknown")
        result = f"registered, with api-version {ours}; the newest stable one is {newest}"
        yield OK, f"{result}; retired: {retired}"

    def _permissions(self) -> Iterator[_Result]:
        path = workspace_path(self._scope) + "/providers/Microsoft.Authorization/permissions"
        permissions = list(self._arm.pages(path, _PERMISSIONS))

        def denied(*verbs: str) -> list[str]:
            return [
                name for name in _TYPES if not all(_may(permissions, name, verb) for verb in verbs)
            ]

        if blind := denied("read"):
            result = f"may not read {', '.join(blind)}, so planning is impossible"
            yield FAILED, result, _ask_for(blind)
        elif bound := denied("write", "delete"):
            result = f"may read everything, but not write or delete {', '.join(bound)}"
            yield WARNING, result, _ask_for(bound)
        else:
            yield OK, "may read and write clusters, endpoints and assets"

    def _locks(self) -> Iterator[_Result]:
        mine = self._scope.id.casefold() + "/"
        subscription = path_of("subscriptions", self._scope.subscription)
        group = subscription + path_of("resourceGroups", self._scope.resource_group)
        locks = "/providers/Microsoft.Authorization/locks"
        lock_bodies = [
            *self._arm.pages(subscription + locks, _LOCKS, **{"$filter": "atScope()"}),
            *self._arm.pages(group + locks, _LOCKS),
        ]
        any_lock = False
        for lock in {str(lock.get("id")): lock for lock in lock_bodies}.values():
            on = str(lock.get("id")).partition(f"{locks}/")[0]
            above, beneath = mine.startswith(on.casefold() + "/"), on.casefold().startswith(mine)
            if above or beneath:
                any_lock = True
                level = get(lock, ("properties", "level"))
                yield WARNING, f"`{lock.get('name')}` ({level}) on {on or '/'}", _UNLOCK
        if not any_lock:
            yield OK, "none on the workspace or above it"

    def _clusters(self) -> Iterator[_Result]:
        path = workspace_path(self._scope) + path_of("computes")
        bodies = list(self._arm.pages(path))
        ill = [check for body in bodies for check in _unhealthy(body)]
        yield from ill
        if not ill:
            yield OK, f"{len(bodies)} computes, none failed or stuck"

    def _quota(self) -> Iterator[_Result]:
        quotas = usage(self._arm, self._scope, self._location)
        tight = [check for quota in quotas for check in _nearly_used_up(quota)]
        yield from tight
        if not tight:
            yield OK, f"room left in {self._location}"
        coreless = [quota.family for quota in quotas if quota.limit == 0]
        coreless = sorted(family for family in coreless if family not in _COUNTS)
        if coreless:
            yield INFO, f"no cores in {self._location} for {_listed(coreless)}"


_VITAL = ("credentials", "workspace")
_NAMES = (*_VITAL, "clock", "provider", "permissions", "locks", "clusters", "quota")
_UNLOCK = (
    "a lock on the group or above keeps clusters from growing and shrinking (resizing 0 -> 0) and"
    " from being deleted: remove it (az lock delete --ids ...), and lock single resources instead"
)
_NO_HUB = "name a project or a separate workspace: those of kind Default accept everything"
_STUCK = (
    "resource locks are the usual cause, also on the group of the virtual network: see `locks`;"
    " then az lock list -g GROUP"
)


def _results(name: str, look: Callable[[], Iterator[_Result]]) -> Iterator[HealthCheck]:
    """Yield the results of one check; a refusal is a result, too."""
    try:
        with errors.answers_decoded():
            for status, text, *advice in look():
                yield HealthCheck(name, status, text, next(iter(advice), None))
    except ServiceError as error:
        details = "".join(f"; {detail}" for detail in error.details)
        yield HealthCheck(name, FAILED, f"{error}{details}", error=error)


def _caller_of(token: str) -> str:
    """Return the user and tenant of a token, as far as it can be read."""
    try:
        part = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        names = ("upn", "preferred_username", "app_displayname", "appid", "oid")
        caller = next(str(claims[name]) for name in names if claims.get(name))
        return f"{caller} of tenant {claims.get('tid', 'unknown')}"
    except (ValueError, IndexError, AttributeError, TypeError, StopIteration):
        return "a caller whose token cannot be read"


def _versions_by_type() -> dict[str, str]:
    """Return the api-version in use for each type of resource."""
    kinds = [kind for kind in KINDS.values() if kind.arm.hosted and not kind.arm.within]
    return {arm_type(kind.name): kind.arm.api_version for kind in kinds if not kind.retired_service}


def _may(permissions: Iterable[Body], resource: str, verb: str) -> bool:
    """Whether some role allows an action: in its `actions`, but not in its `notActions`."""
    action = f"{PROVIDER}/workspaces/{resource}/{verb}"
    return any(
        _covers(permission.get("actions"), action)
        and not _covers(permission.get("notActions"), action)
        for permission in permissions
    )


def _covers(patterns: Data, action: str) -> bool:
    """Whether a pattern covers an action; `*` matches anything, including slashes."""
    return any(
        re.fullmatch(re.escape(str(pattern)).replace(r"\*", ".*"), action, re.IGNORECASE)
        for pattern in patterns or ()
    )


def _ask_for(types: Iterable[str]) -> str:
    roles = " and ".join(dict.fromkeys(_ROLES[type_name] for type_name in types))
    return f"ask an owner of the workspace for the role {roles}, or for Contributor"


def _unhealthy(body: Body) -> Iterator[_Result]:
    name, properties = body.get("name"), body.get("properties") or {}
    state = str(properties.get("provisioningState"))
    if state.casefold() in ("failed", "canceled"):
        why = errors.provisioning_error(properties)
        message = f"compute/{name} is {state}: ({why.get('code')}) {why.get('message')}"
        yield WARNING, errors.redact(message), "mlctl apply writes it again"
    inner = properties.get("properties") or {}
    nodes = [inner.get(key) for key in ("currentNodeCount", "targetNodeCount")]
    if inner.get("allocationState") == "Resizing" and nodes == [0, 0]:
        yield WARNING, f"compute/{name} is resizing (0 -> 0)", _STUCK


def _nearly_used_up(quota: Usage) -> Iterator[_Result]:
    """Yield quotas that are nearly used up; a limit of 0 for a VM family is normal."""
    if quota.limit is None or (quota.limit == 0 and quota.family not in _COUNTS):
        return
    if quota.used >= quota.limit * _NEARLY:
        noun = _COUNTS.get(quota.family, quota.family)
        message = (
            f"{quota.used} of {quota.limit} used of {noun}"
            if quota.limit
            else f"0 allowed of {noun}"
        )
        delete = "delete idle clusters, or " if quota.used else ""
        advice = f"{delete}ask for more: the portal's page `Usage + quotas`"
        yield WARNING, message, advice


def _listed(families: Sequence[str]) -> str:
    """Return the number of VM families, and the first few of them."""
    remainder = "" if len(families) <= _NAMED else f" and {len(families) - _NAMED} more"
    count = counted(len(families), "VM family", "VM families")
    return f"{count}: {', '.join(families[:_NAMED])}{remainder}"


_NAMED = 6  # VM families at most
_COUNTS = {
    "total": "all dedicated cores",
    "low_priority": "the low-priority cores",
    "computes": "the clusters of a region",
}
