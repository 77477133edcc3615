"""The datastore that the service makes with every workspace: a container of its own for blobs."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from mlctl import pointer
from mlctl.backends.azure.arm import ArmClient, path_of
from mlctl.backends.azure.clouds import Cloud
from mlctl.backends.azure.reads import workspace_path
from mlctl.kinds.address import Scope

NAME = "workspaceblobstore"  # the first default; it can be neither renamed nor deleted


class Datastore:
    """A container, as its datastore describes it when it is first asked for; the workspace's own.

    Raises:
        NotFound: there is no such datastore.
    """

    def __init__(self, arm: ArmClient, scope: Scope, cloud: Cloud, name: str = NAME) -> None:
        self._arm = arm
        self._cloud = cloud
        self._path = workspace_path(scope) + path_of("datastores", name)
        self._properties = arm.get(self._path)["properties"]

    @property
    def account(self) -> str:
        """The URL of the storage account."""
        name = self._properties["accountName"]
        suffix = self._properties.get("endpoint") or self._cloud.storage
        base_url = urlsplit(self._arm.base)
        scheme = base_url.scheme if str(name).startswith(f"{base_url.netloc}/") else "https"
        return f"{scheme}://{name}.blob.{suffix}"

    @property
    def url(self) -> str:
        """The URL of the container."""
        return f"{self.account}/{self._properties['containerName']}"

    def container(self) -> Any:
        """A client of the container, with the secret that the workspace has for it.

        Raises:
            ServiceError: the caller may not know the secret.
        """
        return container(self.url, self._secret(), self._arm)

    def own_container(self) -> Any:
        """A client of the container, with the caller's own credential."""
        return container(self.url, self._arm.credential, self._arm)

    def _secret(self) -> Any:
        """A SAS token or an account key; without either, the caller's own credential."""
        if pointer.get(self._properties, ("credentials", "credentialsType"), "None") == "None":
            return self._arm.credential
        query = {"expirableSecret": True, "expireAfterHours": 1}
        secret = self._arm.post(self._path + path_of("listSecrets"), query)
        return secret.get("sasToken") or secret.get("key") or self._arm.credential


def container(url: str, secret: Any, arm: ArmClient) -> Any:
    """A client of a container; what fails is tried again by its callers alone."""
    from azure.storage.blob import ContainerClient

    options: dict[str, Any] = {"transport": arm.transport, "retry_total": 0}
    return ContainerClient.from_container_url(url, secret, **options)
