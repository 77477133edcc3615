"""The azure backend: Azure Machine Learning through the resource manager's REST API.

This is the only package that imports azure.*; it is only imported if this backend is selected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from mlctl.backends.azure.arm import ArmClient, fetch
from mlctl.backends.azure.backend import AzureBackend
from mlctl.backends.azure.clouds import Cloud, check_auth, choose_cloud, credential
from mlctl.backends.azure.retry import Clock
from mlctl.backends.ports.backend import ConnectionOptions
from mlctl.dataclasses import replace
from mlctl.kinds.address import Scope

__all__ = ["ArmClient", "AzureBackend", "Clock", "Cloud", "connect", "identified"]


def connect(
    scope: Scope, environment: Mapping[str, str], options: ConnectionOptions
) -> AzureBackend:
    """Connect to a workspace of the cloud in the options or the environment.

    No request is sent, except to look up the id of a subscription given by name.
    """
    arm, cloud = manager(environment, options)
    return AzureBackend(arm, identify_scope(scope, arm), cloud)


def manager(environment: Mapping[str, str], options: ConnectionOptions) -> tuple[ArmClient, Cloud]:
    """Return a client of the resource manager of the cloud in the options or the environment."""
    method = options.auth or "default"
    check_auth(method)
    cloud = choose_cloud(options.cloud, environment, fetch)
    token_credential = credential(method, cloud, environment.get("AZURE_CLIENT_ID"))
    clock = Clock() if options.timeout is None else Clock(limit=options.timeout)
    return ArmClient(cloud.manager, token_credential, clock=clock), cloud


def identify_scope(scope: Scope, arm: ArmClient) -> Scope:
    """Return the scope with its subscription's id; an unknown name is kept."""
    if _ID.fullmatch(scope.subscription):
        return scope
    for subscription in arm.pages("/subscriptions", _SUBSCRIPTIONS):
        if str(subscription.get("displayName")).casefold() == scope.subscription.casefold():
            return replace(scope, subscription=str(subscription["subscriptionId"]))
    return scope


_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SUBSCRIPTIONS = "2022-12-01"  # the version of the list of subscriptions
