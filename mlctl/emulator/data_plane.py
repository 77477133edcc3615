"""The data plane of online endpoints: requests to scoring URIs, answered by the user's own code."""

from __future__ import annotations

import hmac
from functools import partial

from mlctl.emulator.http.messages import HttpError, Response
from mlctl.emulator.identity import tokens
from mlctl.emulator.requests.call import Call
from mlctl.emulator.storage import materials
from mlctl.kinds.address import Address
from mlctl.service_errors import NotFound, Permanent
from mlctl.serving.servers import Servers
from mlctl.simulator.control_plane import scoring
from mlctl.simulator.control_plane.state.context import StoredResource

_DEPLOYMENT = "azureml-model-deployment"
_TEXT = {"content-type": "text/plain; charset=utf-8"}


def health(call: Call) -> Response:
    """GET of the endpoint itself, which is its liveness: the text `Healthy`.

    Raises:
        ServiceError: 404, there is none, or no code is run.
    """
    _endpoint(call)
    return Response(200, _TEXT, b"Healthy")


def score(call: Call) -> Response:
    """A request to an endpoint, answered by the deployment of the header, or by the traffic.

    Raises:
        ServiceError: 401, the caller has no key or token; 404, there is nothing that answers.
    """
    servers, endpoint = _endpoint(call)
    _authenticate(call, endpoint)
    deployment = call.request.header(_DEPLOYMENT) or None
    try:
        resource = scoring.choose(
            call.handle, endpoint.address, deployment, servers.draw(call.state.seed)
        )
        sent = call.request.body.decode("utf-8", "replace")
        answer = servers.answer(call.handle, resource, partial(materials.locate, call), sent)
    except NotFound as error:
        return Response(404, _TEXT, error.message.encode())
    except Permanent as error:
        return Response(error.status or 424, _TEXT, error.message.encode())
    headers = {"content-type": answer.type, _DEPLOYMENT: resource.address.name, **answer.headers}
    return Response(answer.status, headers, answer.body.encode())


def _endpoint(call: Call) -> tuple[Servers, StoredResource]:
    if call.settings.servers is None:
        text = "The emulator runs no code: start it with --run-code."
        raise NotFound("NoCode", text)
    return call.settings.servers, call.require(Address("online-endpoint", call.names["parent"]))


def _authenticate(call: Call, endpoint: StoredResource) -> None:
    """Allow callers with a key or a token of the endpoint, as its `auth_mode` says.

    Raises:
        HttpError: 401, the caller has none.
    """
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
