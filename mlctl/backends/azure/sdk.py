"""The client of azure-ai-ml, for what only the SDK can do.

It is imported on use: the import alone takes a second.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from typing import Any
from urllib.parse import urlsplit

from mlctl.backends.azure import errors
from mlctl.backends.azure.arm import ArmClient
from mlctl.backends.azure.clouds import CLOUDS, Cloud
from mlctl.kinds.address import Scope
from mlctl.service_errors import Permanent


def ml_client(arm: ArmClient, scope: Scope, cloud: Cloud, **options: Any) -> Any:
    """Return an `MLClient` of a workspace, or of the `registry_name` in the options.

    It has the credential and the cloud of `arm`.

    Raises:
        Permanent: azure-ai-ml is not installed, or one of its dependencies does not fit.
    """
    try:
        from azure.ai.ml import MLClient
    except ImportError as error:
        text = f"azure-ai-ml cannot be loaded ({error}): pip install --upgrade 'mlctl-azure[azure]'"
        raise Permanent("BrokenExtra", text) from None

    workspace = None if options.get("registry_name") else scope.workspace
    names = (scope.subscription, scope.resource_group, workspace)
    return MLClient(arm.credential, *names, **{**_cloud_options(arm, cloud), **options})


@contextmanager
def quiet_client(
    arm: ArmClient, scope: Scope, cloud: Cloud, label: str, **options: Any
) -> Iterator[Any]:
    """Yield `ml_client` without the SDK's warnings, with errors about `label` as ServiceErrors.

    Raises:
        ServiceError: what the block does is refused.
    """
    with errors.sdk_errors_decoded(), redirect_stderr(io.StringIO()):
        client = ml_client(arm, scope, cloud, **options)
        from azure.ai.ml.exceptions import MlException

        try:
            yield client
        except MlException as error:
            reason = errors.redact(" ".join(str(error.message).split()))
            raise Permanent("SdkException", f"{label}: {reason}") from None
        except OSError as error:
            if error.filename is None:  # of a connection
                raise
            text = f"{label}: cannot write `{error.filename}`: {error.strerror}"
            raise Permanent("NotWritten", text) from None


def _cloud_options(arm: ArmClient, cloud: Cloud) -> dict[str, Any]:
    """Describe the cloud to the SDK, which knows the three of `clouds` itself."""
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
