"""The headers that the service adds to its answers, as recorded in November 2025."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mlctl.emulator.http.messages import Request, Response

_OF_SERVICE = re.compile(
    r"/providers/Microsoft\.MachineLearningServices/(workspaces($|/)|locations/)", re.IGNORECASE
)
_ELSEWHERE = re.compile(r"/providers/Microsoft\.(?!MachineLearningServices)", re.IGNORECASE)
_DEPLOYMENT = re.compile(r"/deployments/[^/]+$", re.IGNORECASE)
_LIMIT = "x-ms-ratelimit-remaining-subscription-"
# How many calls are left in the subscription, and in the tenant. An emulator has no limit, unless
# a fault says so: the numbers are those of a subscription that has just begun.
_LEFT: Mapping[str, tuple[str, int, int]] = {
    "GET": ("reads", 249, 3749),
    "DELETE": ("deletes", 199, 2999),
}
_WRITES = ("writes", 199, 2999)
_DEPLOYMENTS_LEFT = 24  # writes of deployments have a limit of their own
_FIRST_ERROR = 400


def is_of_service(request: Request) -> bool:
    """Whether the provider of Azure Machine Learning answers, not the resource manager."""
    matches = [*_OF_SERVICE.finditer(request.path)]
    return bool(matches) and not _ELSEWHERE.search(request.path, matches[-1].start() + 1)


def service_headers(request: Request, response: Response) -> dict[str, str]:
    """The headers of an answer: whether it is an error, and how many calls are left."""
    from_gateway = "x-ms-failure-cause" in response.headers
    if not is_of_service(request) or from_gateway:
        return {}
    kind = "error" if response.status >= _FIRST_ERROR and response.body else "standard"
    if request.method in ("PUT", "PATCH") and _DEPLOYMENT.search(request.path):
        limits = {f"{_LIMIT}resource-requests": _DEPLOYMENTS_LEFT}
    else:
        name, remaining, of_tenant = _LEFT.get(request.method, _WRITES)
        limits = {f"{_LIMIT}{name}": remaining, f"{_LIMIT}global-{name}": of_tenant}
    return {
        "x-ms-response-type": kind,
        **{key: str(count) for key, count in limits.items()},
    }
