"""The client of azure-ai-ml, for what only the SDK does.

It is imported where it is used: the import alone takes a second.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from mlctl.backends.azure.arm import ArmClient
from mlctl.backends.azure.clouds import CLOUDS, Cloud
from mlctl.kinds.address import Scope
from mlctl.service_errors import Permanent


def ml_client(arm: ArmClient, scope: Scope, cloud: Cloud, **options: Any) -> Any:
    """An `MLClient` of a workspace, with the credential and the cloud of `arm`.

    Raises:
        Permanent: azure-ai-ml is not installed, or a package that it needs does not suit it.
    """
    try:
        from azure.ai.ml import MLClient
    except ImportError as error:
        text = f"azure-ai-ml cannot be loaded ({error}): pip install --upgrade 'mlctl-azure[azure]'"
        raise Permanent("BrokenExtra", text) from None

    names = (scope.subscription, scope.resource_group, scope.workspace)
    return MLClient(arm.credential, *names, **{**_cloud_options(arm, cloud), **options})


def _cloud_options(arm: ArmClient, cloud: Cloud) -> dict[str, Any]:
    """The cloud in the SDK's words; it knows the three of `clouds` itself."""
    if cloud.name.casefold() in CLOUDS:
        return {"cloud": cloud.name}
    base = arm.base
    options = {
        "azure_portal": base,
        "resource_manager": base,
        "active_directory": cloud.authority,
        "aml_resource_id": base,
        "storage_endpoint": cloud.storage,
        "registry_discovery_endpoint": base + "/",
    }
    # the SDK caches clouds by name
    return {"cloud": f"{cloud.name}-{urlsplit(base).netloc}", "cloud_metadata": options}
