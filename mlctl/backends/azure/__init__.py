"""The azure backend: Azure Machine Learning through the resource manager's REST API.

The only package that imports azure.*; it is imported only where this backend is selected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from mlctl.backends.azure.arm import ArmClient, fetch
from mlctl.backends.azure.backend import AzureBackend
from mlctl.backends.azure.clouds import Cloud, auth_method, choose_cloud, credential
from mlctl.backends.azure.retry import Clock
from mlctl.backends.ports.backend import ConnectionOptions
from mlctl.kinds.address import Scope

__all__ = ["ArmClient", "AzureBackend", "Clock", "Cloud", "connect", "identified"]


def connect(
    scope: Scope, environment: Mapping[str, str], options: ConnectionOptions
) -> AzureBackend:
    """A workspace of the cloud that the options or the environment name.

    No request is sent, except to look up the id of a subscription that is given by its name.
    """
    arm, cloud = manager(environment, options)
    return AzureBackend(arm, identified(scope, arm), cloud)


def manager(environment: Mapping[str, str], options: ConnectionOptions) -> tuple[ArmClient, Cloud]:
    """A client of the resource manager of the cloud that the options or the environment name."""
    method = auth_method(options.auth)
    cloud = choose_cloud(options.cloud, environment, fetch)
    token_credential = credential(method, cloud, environment.get("AZURE_CLIENT_ID"))
    clock = Clock() if options.timeout is None else Clock(limit=options.timeout)
    return ArmClient(cloud.manager, token_credential, clock=clock), cloud


def identified(scope: Scope, arm: ArmClient) -> Scope:
    """The scope with the id of its subscription; an unknown name stays as it is."""
    if _ID.fullmatch(scope.subscription):
        return scope
    for subscription in arm.pages("/subscriptions", _SUBSCRIPTIONS):
        if str(subscription.get("displayName")).casefold() == scope.subscription.casefold():
            return replace(scope, subscription=str(subscription["subscriptionId"]))
    return scope


_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SUBSCRIPTIONS = "2022-12-01"  # the version of the list of subscriptions
