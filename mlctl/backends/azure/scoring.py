"""Requests to online endpoints of Azure, their keys and tokens, and the logs of deployments.

The flow is that of azure-ai-ml 1.35.2 (`OnlineEndpointOperations.invoke`, `.get_keys`). A request
is sent once: nobody knows what the code behind it does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlctl.backends.azure import links
from mlctl.backends.azure.arm import ArmClient
from mlctl.backends.azure.clouds import Cloud
from mlctl.backends.azure.planes import data_plane, data_plane_token
from mlctl.backends.azure.reads import resource_path
from mlctl.dataclasses import dataclass
from mlctl.kinds.address import Address, Scope
from mlctl.pointer import Data, get
from mlctl.service_errors import Permanent

_VALID_S = 3600  # seconds; longer than a request takes


@dataclass(frozen=True, slots=True)
class _Secret:
    """A key or token as a credential: it is sent as it is."""

    text: str

    def get_token(self, *_scopes: str, **_options: Any) -> Any:
        import time

        from azure.core.credentials import AccessToken

        return AccessToken(self.text, int(time.time()) + _VALID_S)


def credentials(arm: ArmClient, scope: Scope, cloud: Cloud, endpoint: Address) -> dict[str, Data]:
    """The keys of an endpoint, its token (`aml_token`), or one of Microsoft Entra ID."""
    return _credentials(arm, scope, cloud, endpoint, arm.get(resource_path(endpoint, scope)))


def score(
    arm: ArmClient, scope: Scope, cloud: Cloud, endpoint: Address, name: str | None, request: Data
) -> Data:
    """The answer of an endpoint's scoring URI, by the deployment `name` where one is given.

    Raises:
        NotFound: there is no such endpoint or deployment.
        Permanent: it has no scoring URI yet, or one outside of the cloud.
    """
    body = arm.get(resource_path(endpoint, scope))
    uri = str(get(body, ("properties", "scoringUri")) or "")
    if not uri:
        raise Permanent("NoScoringUri", f"{endpoint} has no scoring URI yet")
    data_plane(arm, cloud, uri)  # refuses other hosts: what is sent there is a secret
    answer = _credentials(arm, scope, cloud, endpoint, body)
    secret = _Secret(str(answer.get("primaryKey") or answer.get("accessToken")))
    parts = links.split(uri)
    base = f"{parts.scheme}://{parts.netloc}"
    caller = ArmClient(base, secret, arm.transport, arm.clock, audience=base)
    headers = {"azureml-model-deployment": name} if name else {}
    data, _ = caller.send("POST", uri, "", body=request, headers=headers)
    return data


def logs(arm: ArmClient, scope: Scope, deployment: Address, lines: int, container: str) -> str:
    """The last lines of the logs of a container of a deployment."""
    request = {"containerType": container, "tail": lines}
    return str(
        arm.post(f"{resource_path(deployment, scope)}/getLogs", request).get("content") or ""
    )


def _credentials(
    arm: ArmClient, scope: Scope, cloud: Cloud, endpoint: Address, body: Mapping[str, Data]
) -> dict[str, Data]:
    mode = str(get(body, ("properties", "authMode")) or "Key").casefold()
    if mode == "aadtoken":
        return {"accessToken": data_plane_token(arm, cloud), "tokenType": "Bearer"}
    action = "listKeys" if mode == "key" else "token"
    return arm.post(f"{resource_path(endpoint, scope)}/{action}", None)
