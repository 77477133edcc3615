"""Pipeline components in local files, registered by azure-ai-ml 1.35.2.

Whatever name and version the file has, the SDK registers it as `azureml_anonymous`, and the version
is a hash of its definition with all that its steps run resolved to ids. Only the SDK computes it.
"""

from __future__ import annotations

import io
import re
from contextlib import redirect_stderr, redirect_stdout
from http import HTTPStatus
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

from azure.core.pipeline import PipelineRequest, PipelineResponse
from azure.core.pipeline.policies import HTTPPolicy
from azure.core.rest import HttpRequest

from mlctl.backends.azure import errors, sdk
from mlctl.backends.azure.arm import ArmClient
from mlctl.backends.azure.clouds import Cloud
from mlctl.kinds.address import Scope

_UNNAMED = [{"name": "azureml_anonymous"}, {"version": "1"}]  # so a deployment's file is read
_stdout_lock = Lock()  # the SDK prints, and stdout belongs to the whole process


class PipelineComponents:
    """The components of one workspace, through the SDK."""

    def __init__(self, arm: ArmClient, scope: Scope, cloud: Cloud) -> None:
        self._arm = arm
        self._scope = scope
        self._cloud = cloud

    def make(self, path: str) -> str:
        """Register a file's component with all that its steps need; its ARM id.

        Raises:
            ServiceError: refused.
        """
        with errors.sdk_errors_decoded():
            return self._registered(path)

    def find(self, path: str) -> str | None:
        """The ARM id of the component that the SDK registered for a file; None where there is none.

        Nothing is written. A file that the SDK cannot read counts as not registered; `make` raises.
        """
        from azure.ai.ml.exceptions import MlException
        from azure.core.exceptions import AzureError

        try:
            return self._registered(path, per_call_policies=[_ReadOnlyPolicy()])
        except (_NotRegistered, AzureError, MlException):
            return None

    def _registered(self, path: str, **options: Any) -> str:
        from azure.ai.ml import load_component

        with _stdout_lock, redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            client = sdk.ml_client(self._arm, self._scope, self._cloud, **options)
            given = load_component(path, params_override=_UNNAMED)
            made = client.components.create_or_update(given, is_anonymous=True)
        return str(made.id)


class _NotRegistered(Exception):
    """The component, or something that it needs, is not registered."""


_ANONYMOUS = re.compile(
    r"/(?:components/azureml_anonymous|environments/CliV2AnonymousEnvironment)/versions/[^/]+$"
)


class _ReadOnlyPolicy:
    """A policy that writes nothing: a PUT of what is named by its content becomes a GET.

    An `HTTPPolicy` by its shape; the pipeline sets `next`.
    """

    next: HTTPPolicy[Any, Any]

    def send(self, request: PipelineRequest[Any]) -> PipelineResponse[Any, Any]:
        """Send a read, or raise `_NotRegistered`."""
        asked = request.http_request
        if asked.method == "PUT" and _ANONYMOUS.search(urlsplit(asked.url).path):
            request.http_request = HttpRequest("GET", asked.url)
        elif asked.method not in ("GET", "HEAD"):
            raise _NotRegistered
        answer = self.next.send(request)
        if asked.method == "PUT" and answer.http_response.status_code == HTTPStatus.NOT_FOUND:
            raise _NotRegistered
        return answer
