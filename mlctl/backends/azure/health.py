"""What can be wrong between a caller and a workspace of Azure, looked at in the order of causes."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from mlctl.backends.azure import errors
from mlctl.backends.azure.arm import VERSION, Arm, path_of
from mlctl.backends.azure.capacity import region, usage
from mlctl.backends.azure.reads import workspace
from mlctl.backends.ports.backend import Usage
from mlctl.backends.ports.health import Check, Verdict
from mlctl.kinds.address import PROVIDER, Scope
from mlctl.pointer import Data, get
from mlctl.service_errors import ServiceError

# Versions of the other providers that are asked: each the newest stable one of its documentation.
_LOCKS, _PERMISSIONS, _PROVIDERS = "2020-05-01", "2022-04-01", "2021-04-01"
_SKEW, _BAD_SKEW = 60.0, 300.0  # seconds; Microsoft Entra ID allows five minutes
_NEARLY = 0.9  # of a quota
_TYPES = ("computes", "batchEndpoints", "batchEndpoints/deployments", "models", "environments")
# Who may do what: https://learn.microsoft.com/azure/machine-learning/how-to-assign-roles
_ROLES = {
    "computes": "AzureML Compute Operator",
    "batchEndpoints": "AzureML Data Scientist",
    "batchEndpoints/deployments": "AzureML Data Scientist",
    "models": "AzureML Data Scientist",
    "environments": "AzureML Data Scientist",
}
Body = Mapping[str, Data]


class Checkup:
    """Looks at one workspace as one caller."""

    def __init__(self, arm: Arm, scope: Scope, now: float) -> None:
        self._arm = arm
        self._scope = scope
        self._now = now
        self._location = ""

    def checks(self) -> Iterator[Check]:
        """Everything; what rests on something that failed is not looked at."""
        lacking = None
        looks = (self._credentials, self._workspace, self._clock, self._provider)
        more = (self._permissions, self._locks, self._clusters, self._quota)
        for name, look in zip(_NAMES, (*looks, *more), strict=True):
            if lacking is not None:
                yield Check(name, Verdict.SKIPPED, f"needs {lacking}")
                continue
            for check in _looked(name, look):
                yield check
                if name in _VITAL and check.verdict is Verdict.FAILED:
                    lacking = name

    def _credentials(self) -> Iterator[Check]:
        with errors.translated():
            token = self._arm.credential.get_token(f"{self._arm.base}/.default")
        ends = datetime.fromtimestamp(token.expires_on, UTC)
        who = _caller(token.token)
        yield Check(
            "credentials", Verdict.OK, f"{who}; the token ends at {ends:%Y-%m-%d %H:%M} UTC"
        )

    def _workspace(self) -> Iterator[Check]:
        body = self._arm.get(workspace(self._scope))
        self._location = region(body.get("location"))
        state = str(get(body, ("properties", "provisioningState"), "unknown"))
        found = f"{self._scope.workspace} in {self._location}, {state}"
        fine = state.casefold() in ("succeeded", "unknown")
        yield Check("workspace", Verdict.OK if fine else Verdict.WARNING, found)

    def _clock(self) -> Iterator[Check]:
        date = self._arm.date(workspace(self._scope))
        if date is None:
            yield Check("clock", Verdict.SKIPPED, "the service does not tell the time")
            return
        skew = self._now - parsedate_to_datetime(date).timestamp()
        found = f"{abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} Azure's"
        if abs(skew) < _SKEW:
            yield Check("clock", Verdict.OK, found)
            return
        verdict = Verdict.FAILED if abs(skew) > _BAD_SKEW else Verdict.WARNING
        advice = "set this machine's clock (timedatectl set-ntp true): tokens are refused otherwise"
        yield Check("clock", verdict, found, advice)

    def _provider(self) -> Iterator[Check]:
        path = path_of("subscriptions", self._scope.subscription, "providers", PROVIDER)
        body = self._arm.get(path, _PROVIDERS)
        state = str(body.get("registrationState"))
        if state.casefold() != "registered":
            advice = f"az provider register -n {PROVIDER}"
            yield Check("provider", Verdict.FAILED, f"{PROVIDER} is {state}", advice)
            return
        offered = {str(one.get("resourceType")): one for one in body.get("resourceTypes") or ()}
        lacking = [one for one in _TYPES if not _offered(offered.get(f"workspaces/{one}"))]
        if lacking:
            found = f"api-version {VERSION} is not offered for {', '.join(lacking)}"
            yield Check("provider", Verdict.WARNING, found, "this cloud may need another mlctl")
        else:
            yield Check("provider", Verdict.OK, f"registered, with api-version {VERSION}")

    def _permissions(self) -> Iterator[Check]:
        path = workspace(self._scope) + "/providers/Microsoft.Authorization/permissions"
        given = list(self._arm.pages(path, _PERMISSIONS))
        blind = [one for one in _TYPES if not _may(given, one, "read")]
        if blind:
            found = f"may not read {', '.join(blind)}: no plan can be made"
            yield Check("permissions", Verdict.FAILED, found, _ask_for(blind))
            return
        bound = [
            one for one in _TYPES if not (_may(given, one, "write") and _may(given, one, "delete"))
        ]
        if bound:
            found = f"may read everything, and not write or delete {', '.join(bound)}"
            yield Check("permissions", Verdict.WARNING, found, _ask_for(bound))
        else:
            yield Check(
                "permissions", Verdict.OK, "may read and write clusters, endpoints and assets"
            )

    def _locks(self) -> Iterator[Check]:
        mine = self._scope.id.casefold() + "/"
        found = False
        for lock in self._known_locks():
            on = str(lock.get("id")).partition("/providers/Microsoft.Authorization/locks/")[0]
            above, beneath = mine.startswith(on.casefold() + "/"), on.casefold().startswith(mine)
            if above or beneath:
                found = True
                level = get(lock, ("properties", "level"))
                told = f"`{lock.get('name')}` ({level}) on {on or '/'}"
                yield Check("locks", Verdict.WARNING, told, _UNLOCK)
        if not found:
            yield Check("locks", Verdict.OK, "none on the workspace or above it")

    def _known_locks(self) -> Iterator[Body]:
        subscription = path_of("subscriptions", self._scope.subscription)
        group = subscription + path_of("resourceGroups", self._scope.resource_group)
        locks = "/providers/Microsoft.Authorization/locks"
        seen = set()
        for path, query in ((subscription, {"$filter": "atScope()"}), (group, {})):
            for lock in self._arm.pages(path + locks, _LOCKS, **query):
                if lock.get("id") not in seen:
                    seen.add(lock.get("id"))
                    yield lock

    def _clusters(self) -> Iterator[Check]:
        path = workspace(self._scope) + path_of("computes")
        bodies = list(self._arm.pages(path))
        ill = [check for body in bodies for check in _ill(body)]
        yield from ill
        if not ill:
            yield Check("clusters", Verdict.OK, f"{len(bodies)} computes, none failed or stuck")

    def _quota(self) -> Iterator[Check]:
        found = usage(self._arm, self._scope, self._location)
        tight = [check for one in found for check in _tight(one)]
        yield from tight
        if not tight:
            yield Check("quota", Verdict.OK, f"room left in {self._location}")


_VITAL = ("credentials", "workspace")
_NAMES = (*_VITAL, "clock", "provider", "permissions", "locks", "clusters", "quota")
_UNLOCK = (
    "a lock on the group or above keeps clusters from growing and shrinking (resizing 0 -> 0) and"
    " from being deleted: remove it (az lock delete --ids ...), and lock single resources instead"
)
_STUCK = (
    "resource locks are the usual cause, also on the group of the virtual network: see `locks`;"
    " then az lock list -g GROUP"
)


def _looked(name: str, look: Callable[[], Iterator[Check]]) -> Iterator[Check]:
    """What a look finds; a refusal is a finding too, and advised on as any other."""
    try:
        yield from look()
    except ServiceError as error:
        details = "".join(f"; {one}" for one in error.details)
        yield Check(name, Verdict.FAILED, f"{error}{details}", error=error)


def _caller(token: str) -> str:
    """Whom a token speaks of, as far as it can be read."""
    try:
        part = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        names = ("upn", "preferred_username", "app_displayname", "appid", "oid")
        who = next(str(claims[name]) for name in names if claims.get(name))
        return f"{who} of tenant {claims.get('tid', 'unknown')}"
    except (ValueError, IndexError, AttributeError, TypeError, StopIteration):
        return "somebody with a token that cannot be read"


def _offered(body: Body | None) -> bool:
    return body is not None and VERSION in (body.get("apiVersions") or ())


def _may(given: Iterable[Body], resource: str, verb: str) -> bool:
    """Whether some role allows an action: its `actions` do, and its `notActions` do not forbid."""
    action = f"{PROVIDER}/workspaces/{resource}/{verb}"
    return any(
        _covers(one.get("actions"), action) and not _covers(one.get("notActions"), action)
        for one in given
    )


def _covers(patterns: Data, action: str) -> bool:
    """`*` stands for anything, slashes too."""
    return any(
        re.fullmatch(re.escape(str(one)).replace(r"\*", ".*"), action, re.IGNORECASE)
        for one in patterns or ()
    )


def _ask_for(types: Iterable[str]) -> str:
    roles = " and ".join(dict.fromkeys(_ROLES[one] for one in types))
    return f"ask an owner of the workspace for the role {roles}, or for Contributor"


def _ill(body: Body) -> Iterator[Check]:
    name, properties = body.get("name"), body.get("properties") or {}
    state = str(properties.get("provisioningState"))
    if state.casefold() in ("failed", "canceled"):
        why = errors.failure(properties)
        told = f"compute/{name} is {state}: ({why.get('code')}) {why.get('message')}"
        yield Check("clusters", Verdict.WARNING, errors.clean(told), "mlctl apply puts it again")
    inner = properties.get("properties") or {}
    nodes = [inner.get(one) for one in ("currentNodeCount", "targetNodeCount")]
    if inner.get("allocationState") == "Resizing" and nodes == [0, 0]:
        yield Check("clusters", Verdict.WARNING, f"compute/{name} is resizing (0 -> 0)", _STUCK)


def _tight(one: Usage) -> Iterator[Check]:
    """A quota that is used up or nearly so; that a family has none is nothing unusual."""
    if one.limit is None or (one.limit == 0 and one.family not in _COUNTS):
        return
    if one.used >= one.limit * _NEARLY:
        told = f"{one.used} of {one.limit} used of {_COUNTS.get(one.family, one.family)}"
        advice = "delete idle clusters, or ask for more: the portal's page `Usage + quotas`"
        yield Check("quota", Verdict.WARNING, told, advice)


_COUNTS = {
    "total": "all dedicated cores",
    "low_priority": "the low-priority cores",
    "computes": "the clusters that a region may have",
}
