"""The azure backend: Azure Machine Learning itself, through the resource manager's REST API.

The only package that imports azure.*, and it is imported only by those who asked for it.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.backends.azure.arm import Arm, fetch
from mlctl.backends.azure.backend import AzureBackend
from mlctl.backends.azure.clouds import Cloud, choose
from mlctl.backends.azure.credentials import auth, credential
from mlctl.backends.azure.patience import Time
from mlctl.backends.base import Options
from mlctl.kinds.address import Scope

__all__ = ["Arm", "AzureBackend", "Cloud", "Time", "connect"]


def connect(scope: Scope, environment: Mapping[str, str], options: Options) -> AzureBackend:
    """A workspace of the cloud that the options or the environment name; nothing is asked yet.

    Raises:
        BackendError: there is no such cloud, or no such way to log in.
    """
    way = auth(options.auth)
    cloud = choose(options.cloud, environment, fetch)
    given = credential(way, cloud, environment.get("AZURE_CLIENT_ID"))
    clock = Time() if options.timeout is None else Time(limit=options.timeout)
    return AzureBackend(Arm(cloud.manager, given, clock=clock), scope, cloud)
