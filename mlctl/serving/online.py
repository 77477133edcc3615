"""Answer one request to an online deployment, with processes that end with it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from mlctl.kinds.address import Address
from mlctl.service_errors import Permanent
from mlctl.serving import servers
from mlctl.serving.deployments import CodeSettings
from mlctl.simulator.control_plane import local_paths, scoring
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle


def answer_once(
    workspace: WorkspaceHandle,
    endpoint: Address,
    deployment: str | None,
    request: str,
    python: str,
    environment: Mapping[str, str],
) -> str:
    """Return the body of a successful answer.

    Raises:
        NotFound: there is no such endpoint or deployment.
        Permanent: its code cannot run here, or has failed.
    """
    resource = scoring.choose(workspace, endpoint, deployment)
    code = CodeSettings(python, partial(local_paths.find, workspace.store), environment)
    try:
        server = servers.start(workspace, resource, code)
    except servers.ScriptError as error:
        raise servers.load_failure(resource.address, error) from None
    try:
        answer = server.answer(request)
    finally:
        server.end()
    if answer.status != servers.OK:
        raise Permanent(f"HTTP {answer.status}", answer.body, status=answer.status)
    return answer.body
