"""The data planes of Azure Machine Learning: hosts other than the resource manager's."""

from __future__ import annotations

from collections.abc import Mapping

from mlctl.backends.azure import links
from mlctl.backends.azure.arm import ArmClient
from mlctl.backends.azure.clouds import CLOUDS, Cloud
from mlctl.service_errors import Permanent

FRONT = "/mferp/managementfrontend"  # where a data plane has what the resource manager has
# https://learn.microsoft.com/azure/machine-learning/how-to-access-azureml-behind-firewall: where
# scoring URIs, data planes and registries are; the first one is the audience of their tokens too.
_DOMAINS: Mapping[str, tuple[str, ...]] = {
    "azurecloud": ("ml.azure.com", "api.azureml.ms", "experiments.azureml.net"),
    "azurechinacloud": ("ml.azure.cn", "api.ml.azure.cn"),
    "azureusgovernment": ("ml.azure.us", "api.ml.azure.us"),
}
# Where registries are looked up; the hosts of azure-ai-ml 1.35.2 (`_azure_environments`).
_DISCOVERIES: Mapping[str, str] = {
    "azurecloud": "https://eastus.api.azureml.ms",
    "azurechinacloud": "https://chinaeast2.api.ml.azure.cn",
    "azureusgovernment": "https://usgovarizona.api.ml.azure.us",
}


def data_plane(arm: ArmClient, cloud: Cloud, url: str) -> ArmClient:
    """Return a client for a data plane; tokens only go to hosts of Azure or the manager.

    Raises:
        Permanent: the URL is of another host.
    """
    parts = links.split(url)
    if links.origin(url) == links.origin(arm.base):
        return arm
    domains = _DOMAINS.get(cloud.name.casefold())
    if domains and parts.scheme == "https" and _within(parts.hostname, domains):
        return arm.at_host(f"https://{parts.netloc}", f"https://{domains[0]}/.default")
    text = f"an answer leads to another host ({parts.hostname}), to which mlctl sends no token"
    raise Permanent("ForeignLink", text)


def data_plane_token(arm: ArmClient, cloud: Cloud) -> str:
    """Return a token for a cloud's data planes; for its manager if it is not one of Azure's."""
    name = cloud.name.casefold()
    domains = _DOMAINS.get(name) or (links.split(arm.base).netloc,)
    return str(arm.credential.get_token(f"https://{domains[0]}/.default").token)


def discovery_url(arm: ArmClient, cloud: Cloud) -> str:
    """Return where a cloud describes its registries; at its manager if it is not Azure's."""
    name = cloud.name.casefold()
    of_azure = name in CLOUDS and links.origin(arm.base) == links.origin(CLOUDS[name].manager)
    return _DISCOVERIES[name] if of_azure else arm.base


def _within(host: str | None, domains: tuple[str, ...]) -> bool:
    return any((host or "").endswith(f".{domain}") for domain in domains)
