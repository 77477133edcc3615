"""Azure clouds: the hosts of their resource managers, logins and data planes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mlctl.backends.azure import links
from mlctl.backends.azure.arm import ArmClient
from mlctl.dataclasses import dataclass
from mlctl.pointer import Data, get
from mlctl.service_errors import Permanent, ServiceError

METADATA_URL_VARIABLE = "ARM_CLOUD_METADATA_URL"  # the variable that az and azure-ai-ml read too


@dataclass(frozen=True, slots=True)
class Cloud:
    """A cloud by az's name: its login (`authority`), and the suffix of blob hosts (`storage`).

    Of the three of Azure also the `domains` of scoring URIs, data planes and registries (the first
    one is the audience of their tokens, too), and where registries are looked up (`discovery`).
    """

    name: str
    manager: str
    authority: str
    storage: str
    domains: tuple[str, ...] = ()
    discovery: str = ""


# https://learn.microsoft.com/azure/azure-government/compare-azure-government-global-azure,
# https://learn.microsoft.com/azure/china/resources-developer-guide, for the domains
# https://learn.microsoft.com/azure/machine-learning/how-to-access-azureml-behind-firewall, and for
# the discovery azure-ai-ml 1.35.2 (`_azure_environments`).
_AZURE = Cloud(
    name="AzureCloud",
    manager="https://management.azure.com",
    authority="https://login.microsoftonline.com",
    storage="core.windows.net",
    domains=("ml.azure.com", "api.azureml.ms", "experiments.azureml.net"),
    discovery="https://eastus.api.azureml.ms",
)
_CHINA = Cloud(
    name="AzureChinaCloud",
    manager="https://management.chinacloudapi.cn",
    authority="https://login.chinacloudapi.cn",
    storage="core.chinacloudapi.cn",
    domains=("ml.azure.cn", "api.ml.azure.cn"),
    discovery="https://chinaeast2.api.ml.azure.cn",
)
_US = Cloud(
    name="AzureUSGovernment",
    manager="https://management.usgovcloudapi.net",
    authority="https://login.microsoftonline.us",
    storage="core.usgovcloudapi.net",
    domains=("ml.azure.us", "api.ml.azure.us"),
    discovery="https://usgovarizona.api.ml.azure.us",
)
CLOUDS = {cloud.name.casefold(): cloud for cloud in (_AZURE, _CHINA, _US)}


def choose_cloud(
    name: str | None, environment: Mapping[str, str], fetch: Callable[[str], Data]
) -> Cloud:
    """Return the cloud of that name, else the one at the metadata URL, else the public one.

    `fetch` gets the JSON of a URL.

    Raises:
        Permanent: the cloud does not exist, or the metadata cannot be used.
    """
    url = environment.get(METADATA_URL_VARIABLE)
    described = _described(_fetched(url, fetch), url) if url else ()
    if name is None:
        return _own_cloud(described, url) if url else CLOUDS["azurecloud"]
    clouds = {**CLOUDS, **{cloud.name.casefold(): cloud for cloud in described}}
    if name.casefold() not in clouds:
        names = ", ".join(cloud.name for cloud in clouds.values())
        raise Permanent("UnknownCloud", f"there is no cloud `{name}`; choose one of: {names}")
    return clouds[name.casefold()]


def _fetched(url: str, fetch: Callable[[str], Data]) -> Data:
    try:
        return fetch(url)
    except ServiceError as error:  # the URL comes from a variable: name it
        message = (
            f"the cloud's metadata cannot be read from {url} ({METADATA_URL_VARIABLE}): {error}"
        )
        raise Permanent(error.code, message, details=error.details) from None


def _own_cloud(described: Sequence[Cloud], url: str) -> Cloud:
    """Return the cloud whose resource manager served the metadata."""
    host = links.split(url).netloc
    for cloud in described:
        if links.split(cloud.manager).netloc == host or len(described) == 1:
            return cloud
    names = ", ".join(cloud.name for cloud in described)
    message = f"{METADATA_URL_VARIABLE} knows several clouds: choose with --cloud: {names}"
    raise Permanent("UnknownCloud", message)


def _described(data: Data, url: str) -> tuple[Cloud, ...]:
    """Parse the metadata: an object since version 2022-09-01, before that an array."""
    clouds = data if isinstance(data, list) else [data]
    try:
        described = tuple(
            _cloud(entry)
            for entry in clouds
            if isinstance(entry, dict) and isinstance(entry.get("resourceManager"), str)
        )
    except Permanent as error:
        message = f"{url} ({METADATA_URL_VARIABLE}) has an invalid resourceManager: {error}"
        raise Permanent(error.code, message) from None
    if not described:
        raise Permanent("UnknownCloud", f"{url} ({METADATA_URL_VARIABLE}) describes no cloud")
    return described


def _cloud(entry: Mapping[str, Data]) -> Cloud:
    manager = str(entry["resourceManager"]).rstrip("/")
    links.split(manager)
    return Cloud(
        str(entry.get("name")),
        manager,
        str(get(entry, ("authentication", "loginEndpoint")) or "").rstrip("/"),
        str(get(entry, ("suffixes", "storage")) or "core.windows.net"),
    )


# Ways to log in, and azure-identity's classes; `default` tries them in turn, as that does.
AUTH_METHODS = {
    "default": "DefaultAzureCredential",
    "cli": "AzureCliCredential",
    "env": "EnvironmentCredential",
    "managed-identity": "ManagedIdentityCredential",
    "workload-identity": "WorkloadIdentityCredential",
    "browser": "InteractiveBrowserCredential",
}


def check_auth(method: str) -> None:
    """Check that there is a way to log in of that name; raises Permanent if there is none."""
    if method not in AUTH_METHODS:
        message = f"there is no --auth `{method}`; choose one of: {', '.join(AUTH_METHODS)}"
        raise Permanent("UnknownAuth", message)


def credential(method: str, cloud: Cloud, client_id: str | None) -> Any:
    """Return a credential of azure-identity; it sends nothing before its first token is needed.

    `client_id` is that of a user-assigned managed identity.

    Raises:
        Permanent: it cannot be used here.
    """
    from azure import identity

    logging.getLogger("msal").addHandler(logging.NullHandler())  # as in `arm`
    options: dict[str, Any] = {}
    if method == "managed-identity":
        options["client_id"] = client_id
    elif method != "cli" and cloud.authority.startswith("https://"):
        options["authority"] = cloud.authority
    try:
        return getattr(identity, AUTH_METHODS[method])(**options)
    except ValueError as error:
        raise Permanent("NoCredentials", f"--auth {method}: {error}", status=401) from None


FRONT = "/mferp/managementfrontend"  # where a data plane has what the resource manager has


def _domains(cloud: Cloud) -> tuple[str, ...]:
    """Return the domains of Azure's cloud of that name; none for another one."""
    azure = CLOUDS.get(cloud.name.casefold())
    return azure.domains if azure else ()


def data_plane(arm: ArmClient, cloud: Cloud, url: str) -> ArmClient:
    """Return a client for a data plane; tokens only go to hosts of Azure or the manager.

    Raises:
        Permanent: the URL is of another host.
    """
    parts = links.split(url)
    if links.origin(url) == links.origin(arm.base):
        return arm
    domains, host = _domains(cloud), parts.hostname or ""
    if parts.scheme == "https" and any(host.endswith(f".{domain}") for domain in domains):
        return arm.at_host(f"https://{parts.netloc}", f"https://{domains[0]}/.default")
    text = f"an answer leads to another host ({parts.hostname}), to which mlctl sends no token"
    raise Permanent("ForeignLink", text)


def data_plane_token(arm: ArmClient, cloud: Cloud) -> str:
    """Return a token for a cloud's data planes; for its manager if it is not one of Azure's."""
    domain, *_ = _domains(cloud) or (links.split(arm.base).netloc,)
    return str(arm.credential.get_token(f"https://{domain}/.default").token)


def discovery_url(arm: ArmClient, cloud: Cloud) -> str:
    """Return where a cloud describes its registries; at its manager if it is not Azure's."""
    azure = CLOUDS.get(cloud.name.casefold())
    of_azure = azure and links.origin(arm.base) == links.origin(azure.manager)
    return azure.discovery if azure and of_azure else arm.base
