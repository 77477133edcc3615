"""Requests to online endpoints, their keys, and the logs of their deployments."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from mlctl import source
from mlctl.backends.ports.backend import SupportsScoring
from mlctl.cli.az.args import PolicyArgs
from mlctl.cli.shell import Session, UsageError, flag
from mlctl.cli.shell.code import CodeArgs, backend_is_local, python_of
from mlctl.cli.shell.command import Commands
from mlctl.cli.shell.output import OutputArgs
from mlctl.files import expanded
from mlctl.files import read as read_file
from mlctl.kinds.address import Address
from mlctl.pointer import Data
from mlctl.service_errors import Permanent

_Endpoint = Annotated[str, flag("--name", "-n", metavar="NAME")]

KeyType: TypeAlias = Literal["primary", "secondary"]
Container: TypeAlias = Literal["inference-server", "storage-initializer"]
_KEYS = {"primary": "Primary", "secondary": "Secondary"}
_WIRE = {"inference-server": "InferenceServer", "storage-initializer": "StorageInitializer"}


def invoke(
    session: Session,
    name: _Endpoint,
    request_file: Path | None = flag("-r", metavar="FILE"),
    deployment_name: str | None = flag("-d", metavar="NAME"),
    *,
    running: CodeArgs,
    _policy: PolicyArgs,
    printing: OutputArgs,
) -> None:
    """Send a request to an online endpoint and print the response."""
    if request_file is None:
        raise UsageError("the following arguments are required: --request-file/-r")
    request = _request(request_file)
    endpoint = Address("online-endpoint", name)
    with _scoring(session) as backend:
        python = python_of(session, running) if backend_is_local(session, running) else None
        answer: Data
        if python is None:
            answer = backend.score(endpoint, deployment_name, request)
        else:
            from mlctl.serving import servers

            code = (json.dumps(request), python, session.environment)
            handle: Any = getattr(backend, "handle")  # noqa: B009 - the local one has it
            answer = servers.answer_once(handle, endpoint, deployment_name, *code)
    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    printing.print(session, text)


def get_credentials(
    session: Session, name: _Endpoint, *, _policy: PolicyArgs, printing: OutputArgs
) -> None:
    """Print the keys of an online endpoint, or a token. No other command prints them."""
    with _scoring(session) as backend:
        data = dict(backend.credentials(Address("online-endpoint", name)))
    printing.print(session, data, secret=True)


def regenerate_keys(
    session: Session,
    name: _Endpoint,
    key_type: KeyType = flag(default="primary"),
    no_wait: bool = flag("--no-wait", default=False),
    *,
    _policy: PolicyArgs,
) -> None:
    """Replace a key of an online endpoint; the old key stops working."""
    with _scoring(session) as backend:
        operation = backend.regenerate_key(Address("online-endpoint", name), _KEYS[key_type])
        if not no_wait:
            operation.wait()


def get_logs(
    session: Session,
    name: Annotated[str, flag("--name", "-n", metavar="NAME")],
    endpoint_name: Annotated[str, flag("--endpoint-name", "-e", metavar="NAME")],
    lines: int = flag("-l", default=5000, min=1, metavar="N"),
    container: Container = flag("-c", default="inference-server"),
    *,
    _policy: PolicyArgs,
    printing: OutputArgs,
) -> None:
    """Print the logs of an online deployment; on the simulated cloud they are its events."""
    with _scoring(session) as backend:
        address = Address("online-deployment", name, endpoint_name)
        text = backend.logs(address, lines, _WIRE[container])
    printing.print(session, text)


@contextmanager
def _scoring(session: Session) -> Iterator[SupportsScoring]:
    with session.backend() as backend:
        if not isinstance(backend, SupportsScoring):
            text = f"the {backend.name} backend has no online endpoints to call"
            raise Permanent("NoScoring", text)
        yield backend


def _request(file: Path) -> Data:
    """Read the JSON of a request file."""
    try:
        return json.loads(read_file(expanded(file), source.MAX_BYTES, pipes=True))
    except OSError as error:
        raise Permanent("CannotRead", f"cannot read `{file}`: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        text = f"`{file}` is not JSON, which a request must be: {error}"
        raise Permanent("InvalidFile", text) from None


# Beyond the commands that all kinds have, by kind.
COMMANDS: Mapping[str, Commands] = {
    "online-endpoint": {
        "invoke": invoke,
        "get-credentials": get_credentials,
        "regenerate-keys": regenerate_keys,
    },
    "online-deployment": {"get-logs": get_logs},
}
