"""The data plane of endpoints: requests to scoring URIs, answered by the user's code or an echo.

On Azure every endpoint has a host. Here a path stands for it, and `at_host` finds the endpoint of
one where only that is known.
"""

from __future__ import annotations

import hmac
import json
from functools import partial

from mlctl.emulator.arm import jobs
from mlctl.emulator.http.messages import HttpError, Response, json_response
from mlctl.emulator.identity import tokens
from mlctl.emulator.requests.call import Call
from mlctl.emulator.storage import uploads
from mlctl.kinds.address import Address
from mlctl.pointer import Data
from mlctl.service_errors import NotFound, Permanent
from mlctl.simulator.control_plane import scoring
from mlctl.simulator.control_plane.state.context import StoredResource

_DEPLOYMENT = "azureml-model-deployment"
_TEXT = {"content-type": "text/plain; charset=utf-8"}


def health(call: Call) -> Response:
    """GET of the endpoint itself, which is its liveness: the text `Healthy`."""
    if call.settings.servers is None:
        raise NotFound("NoCode", "The emulator runs no code: start it with --run-code.")
    call.require(Address("online-endpoint", call.names["parent"]))
    return Response(200, _TEXT, b"Healthy")


def score(call: Call) -> Response:
    """A request to an endpoint, answered by the deployment of the header, or by the traffic."""
    endpoint = call.require(Address("online-endpoint", call.names["parent"]))
    _authenticate(call, endpoint)
    deployment = call.request.header(_DEPLOYMENT) or None
    if call.settings.servers is None:
        return _echo(call, endpoint.address, deployment)
    servers = call.settings.servers
    try:
        resource = scoring.choose(
            call.handle, endpoint.address, deployment, servers.draw(call.state.seed)
        )
        sent = call.request.body.decode("utf-8", "replace")
        answer = servers.answer(call.handle, resource, partial(uploads.locate_files, call), sent)
    except NotFound as error:
        return Response(404, _TEXT, error.message.encode())
    except Permanent as error:
        return Response(error.status or 424, _TEXT, error.message.encode())
    headers = {"content-type": answer.type, _DEPLOYMENT: resource.address.name, **answer.headers}
    return Response(answer.status, headers, answer.body.encode())


def describe(call: Call) -> Response:
    """GET of the endpoint's API: OpenAPI 3 for `version=3`, else Swagger 2; any JSON is scored.

    As the inference server describes a script without schema (azureml-inference-server-http 1.4).
    """
    endpoint = call.require(Address("online-endpoint", call.names["parent"]))
    _authenticate(call, endpoint)
    title = endpoint.address.name
    text = f"API specification for the Azure Machine Learning service {title}"
    newest = call.request.query_value("version", "2") == "3"
    scored: dict[str, Data] = {
        "responses": {"200": {"description": "The response of the scoring script."}}
    }
    schema: Data = {"schema": {"type": "object"}}
    if newest:
        version, body = {"openapi": "3.0.3"}, {"content": {"application/json": schema}}
        scored["requestBody"] = {"required": True, **body}
    else:
        version = {"swagger": "2.0"}
        scored["parameters"] = [{"in": "body", "name": "serviceInputPayload", **schema}]
    healthy = {"responses": {"200": {"description": "The service is up: the text `Healthy`."}}}
    paths: Data = {
        "/": {"get": {"operationId": "ServiceHealthCheck", **healthy}},
        "/score": {"post": {"operationId": "RunMLService", **scored}},
    }
    info = {"title": title, "description": text, "version": "1.0"}
    return json_response({**version, "info": info, "paths": paths})


def _echo(call: Call, endpoint: Address, deployment: str | None) -> Response:
    """Echo the request, which need not be JSON: no code runs."""
    text = call.request.body.decode("utf-8", "replace")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = text
    answer = scoring.score(call.handle, endpoint, deployment, data)
    return json_response(answer, headers={_DEPLOYMENT: str(answer["deployment"])})


def at_host(call: Call) -> Response:
    """Answer a request to `NAME.REGION.inference.ml.azure.com`, in any workspace."""
    is_batch = call.names["action"].casefold() == "jobs"
    kind = "batch-endpoint" if is_batch else "online-endpoint"
    address = Address(kind, call.names["parent"])
    for workspace_call in call.in_workspaces():
        if workspace_call.peek(address) is None:
            continue
        if not is_batch:
            return score(workspace_call)
        tokens.authenticate(call.request, call.settings)
        return jobs.invoke(workspace_call)
    raise NotFound("ResourceNotFound", f"There is no {address} in any workspace here.", status=404)


def _authenticate(call: Call, endpoint: StoredResource) -> None:
    """Allow callers with a key or a token of the endpoint, as its `auth_mode` says."""
    bearer = call.request.header("authorization").partition(" ")[2]
    mode = scoring.auth_mode(endpoint.body)
    if mode == scoring.KEY:
        allowed = list(scoring.keys(call.state, endpoint.address, endpoint.body).values())
    elif mode == scoring.TOKEN:
        allowed = [scoring.token(call.state, endpoint.address)["accessToken"]]
    else:
        tokens.authenticate(call.request, call.settings)
        return
    if not any(hmac.compare_digest(str(secret).encode(), bearer.encode()) for secret in allowed):
        text = "You don't have permission to score: the key or token is missing, wrong or expired."
        raise HttpError("Unauthorized", text, status=401)
