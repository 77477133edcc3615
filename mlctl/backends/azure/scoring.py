"""Requests to Azure's online endpoints, their keys and tokens, and deployments' logs.

As in azure-ai-ml 1.35.2 (`OnlineEndpointOperations.invoke`, `.get_keys`). A request is sent only
once, since its effects are unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlctl.backends.azure import links
from mlctl.backends.azure.arm import ArmClient, AzureOperation
from mlctl.backends.azure.clouds import Cloud, data_plane, data_plane_token
from mlctl.backends.azure.errors import decodes_answers
from mlctl.backends.azure.reads import resource_path
from mlctl.dataclasses import dataclass
from mlctl.kinds.address import Address, Scope
from mlctl.pointer import Data, get
from mlctl.service_errors import Permanent

_VALID_S = 3600  # seconds; longer than a request takes


@dataclass(frozen=True, slots=True)
class _Secret:
    """A key or token as a credential, sent unchanged."""

    text: str

    def get_token(self, *_scopes: str, **_options: Any) -> Any:
        import time

        from azure.core.credentials import AccessToken

        return AccessToken(self.text, int(time.time()) + _VALID_S)


@decodes_answers
class AzureScoring:
    """Requests of callers of online endpoints; each method does what its port says."""

    arm: ArmClient
    scope: Scope
    cloud: Cloud

    def credentials(self, endpoint: Address) -> Mapping[str, Data]:
        """Return an endpoint's keys, its token (`aml_token`), or one of Microsoft Entra ID."""
        return self._credentials(endpoint, self.arm.get(resource_path(endpoint, self.scope)))

    def regenerate_key(self, endpoint: Address, key_type: str) -> AzureOperation:
        """Regenerate a key: 202 with only a Location, as recorded."""
        at = f"{resource_path(endpoint, self.scope)}/regenerateKeys"
        return self.arm.begin("POST", at, {"keyType": key_type})

    def score(self, endpoint: Address, deployment: str | None, request: Data) -> Data:
        """Call an endpoint's scoring URI, or the deployment if one is named.

        Raises:
            NotFound: the endpoint or deployment does not exist.
            Permanent: it has no scoring URI yet, or one outside the cloud.
        """
        body = self.arm.get(resource_path(endpoint, self.scope))
        uri = str(get(body, ("properties", "scoringUri")) or "")
        if not uri:
            raise Permanent("NoScoringUri", f"{endpoint} has no scoring URI yet")
        data_plane(self.arm, self.cloud, uri)  # refuses other hosts, since secrets are sent there
        answer = self._credentials(endpoint, body)
        secret = _Secret(str(answer.get("primaryKey") or answer.get("accessToken")))
        parts = links.split(uri)
        base = f"{parts.scheme}://{parts.netloc}"
        caller = ArmClient(base, secret, self.arm.transport, self.arm.clock, audience=base)
        headers = {"azureml-model-deployment": deployment} if deployment else {}
        data, _ = caller.send("POST", uri, "", body=request, headers=headers)
        return data

    def logs(self, deployment: Address, lines: int, container: str) -> str:
        """Return the last lines of the logs of a deployment's container."""
        request = {"containerType": container, "tail": lines}
        answer = self.arm.post(f"{resource_path(deployment, self.scope)}/getLogs", request)
        return str(answer.get("content") or "")

    def _credentials(self, endpoint: Address, body: Mapping[str, Data]) -> dict[str, Data]:
        mode = str(get(body, ("properties", "authMode")) or "Key").casefold()
        if mode == "aadtoken":
            return {"accessToken": data_plane_token(self.arm, self.cloud), "tokenType": "Bearer"}
        action = "listKeys" if mode == "key" else "token"
        return self.arm.post(f"{resource_path(endpoint, self.scope)}/{action}", None)
