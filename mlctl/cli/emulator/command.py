"""`mlctl emulator`: the simulated cloud as Azure's REST API, for programs made for Azure."""

from __future__ import annotations

import ipaddress
import sys
import time
import traceback
import uuid
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from mlctl import files, inert, masking
from mlctl.backends import LOCAL_DB
from mlctl.cli.shell import Group, InvalidValue, Session, flag
from mlctl.cli.shell.code import CodeArgs, python_of
from mlctl.cli.shell.output import Output, Query, print_data
from mlctl.dataclasses import asdict, dataclass
from mlctl.service_errors import Permanent

if TYPE_CHECKING:
    from mlctl.emulator.instance_file import EmulatorInstance
    from mlctl.emulator.requests.settings import EmulatorSettings

STYLE_VARIABLE = "MLCTL_EMULATOR_LRO"
TOKEN_VARIABLE = "MLCTL_EMULATOR_TOKEN"  # noqa: S105  # the name of a variable
_LONGEST_TOKEN = 10_000  # bytes
_FASTEST = 1e9  # virtual seconds per real second


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerArgs:
    """Where the emulator listens, with which files, for whom."""

    port: int = flag(default=0, min=0, max=65535)
    host: str = flag(default="127.0.0.1")
    allow_host: list[str] | None = flag(metavar="NAME")
    db: Path | None = flag(metavar="FILE")
    cert_dir: Path = flag(default=Path(".mlctl", "emulator"), metavar="DIR")
    http: bool = flag(default=False)
    token: str | None = flag(metavar="SECRET|@FILE")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerArgs:
    """How the emulator answers, and what it logs."""

    pace: str = flag("--time", default="virtual", metavar="virtual|real|xN")
    as_json: bool = flag("--json", default=False)
    record: Path | None = flag(metavar="FILE")
    strict_workspaces: bool = flag(default=False)
    page_size: int = flag(default=100, min=1, max=5000)


def start(session: Session, server: ServerArgs, answers: AnswerArgs, running: CodeArgs) -> None:
    """Serve the simulated cloud as Azure's REST API, until SIGINT or SIGTERM."""
    modules = ["uvicorn"] if server.http else ["uvicorn", "cryptography"]
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        why = f"the emulator needs {' and '.join(missing)}: pip install 'mlctl-azure[emulator]'"
        raise Permanent("MissingExtra", why)
    token = _token(session, server.token)
    python = python_of(session, running) if running.run_code else None
    _require_token(session, server.host, token)
    from mlctl.emulator.lifecycle import ServerConfig, StartError, run
    from mlctl.simulator.control_plane.state.store import make_state_private

    price_list = session.price_list
    path = server.db or Path(session.environment.get("MLCTL_LOCAL_DB") or LOCAL_DB)
    for text in make_state_private(path):
        session.note(text)
    config = ServerConfig(
        server.host,
        server.port,
        path,
        None if server.http else server.cert_dir,
        answers.record,
        tuple(server.allow_host or ()),
        lambda: price_list,
    )
    try:
        run(
            config,
            _settings(session, token, answers, python),
            lambda running: _print_instance(session, running, as_json=answers.as_json),
        )
    except StartError as error:
        raise Permanent("NoSite", str(error)) from error


def env(session: Session, output: Output = "none", query: Query = None) -> None:
    """Print the exports that point unmodified programs to the running emulator: eval "$(mlctl
    emulator env)".
    """
    from mlctl.emulator import instance_file

    running = running_instance()
    pairs = instance_file.environment_variables(running, session.environment)
    if output == "none" and query is None:
        session.out_data(instance_file.export_lines(pairs))
    else:
        print_data(session, dict(pairs), output, query)


def running_instance() -> EmulatorInstance:
    """Return the emulator that runs in this folder."""
    from mlctl.emulator import instance_file

    why = instance_file.distrust(instance_file.FILE)
    if why is not None:
        raise Permanent(
            "UntrustedInstance",
            f"`{instance_file.FILE}` cannot be trusted: {why}; remove it, and start an emulator in"
            " this folder: `mlctl emulator start`",
        )
    running = instance_file.find_running(instance_file.FILE)
    if running is None:
        why = "no emulator runs in this folder; start one: `mlctl emulator start`"
        raise Permanent("NoEmulator", why)
    return running


def _token(session: Session, text: str | None) -> str | None:
    """Return the token: as given, from the file that `@FILE` names, or from the variable."""
    token = text or session.environment.get(TOKEN_VARIABLE)
    if token is not None and token.startswith("@"):
        path = files.expanded(Path(token[1:]))
        try:
            token = files.read(path, _LONGEST_TOKEN, pipes=True).decode().strip()
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "it is not text"
            raise InvalidValue(f"cannot read `{path}`: {why}", flag="--token") from None
        if not token:
            raise InvalidValue(f"`{path}` is empty", flag="--token")
    masking.hidden.add([token] if token else [])
    return token


def _require_token(session: Session, host: str, token: str | None) -> None:
    """Refuse to listen beyond loopback without a token; warn of it with one."""
    if not host:
        raise InvalidValue("name an address, as 127.0.0.1", flag="--host")
    if _loopback(host):
        return
    if not token:
        raise InvalidValue(
            f"everybody who can reach {host} could read and change the simulated cloud, and fill"
            " this disk: set --token, or stay on 127.0.0.1",
            flag="--host",
        )
    session.say(
        f"WARNING: whoever can reach {host} and knows the token can read and change the simulated"
        " cloud, and fill this disk with uploads."
    )


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _settings(
    session: Session, token: str | None, answers: AnswerArgs, python: str | None
) -> EmulatorSettings:
    from mlctl.emulator.requests.settings import EmulatorSettings
    from mlctl.serving.servers import Servers
    from mlctl.simulator.control_plane.faults import OperationStyle

    text = session.environment.get(STYLE_VARIABLE, OperationStyle.ASYNC.value)
    if text not in [style.value for style in OperationStyle]:
        styles = ", ".join(style.value for style in OperationStyle)
        raise InvalidValue(f"`{text}` is not one of {styles}", flag=f"${STYLE_VARIABLE}")
    return EmulatorSettings(
        home=session.settings.scope("local", session.flags.scope),
        style=OperationStyle(text),
        pace=_pace(answers.pace),
        page=answers.page_size,
        strict=answers.strict_workspaces,
        token=token,
        now=time.time,
        new_id=lambda: str(uuid.uuid4()),
        bug=lambda error: _report_bug(session, error),
        servers=Servers(python, session.environment) if python is not None else None,
    )


def _pace(text: str) -> float | None:
    if text == "virtual":
        return None
    try:
        pace = 1.0 if text == "real" else float(text.removeprefix("x"))
    except ValueError:
        pace = 0.0
    if not 0 < pace < _FASTEST or text[:1] not in "rx":
        raise InvalidValue(f"`{text}` is neither virtual, real nor xN (x60)", flag="--time")
    return pace


def _report_bug(session: Session, error: Exception) -> None:
    """Print an internal error that was answered with status 500."""
    if session.flags.debug:
        session.say("".join(traceback.format_exception(error)))
    session.say(f"ERROR: this is a bug in mlctl: {type(error).__name__}: {error}")


def _print_instance(session: Session, running: EmulatorInstance, *, as_json: bool) -> None:
    """Print where the running emulator is."""
    keys = ("url", "ca_file", "subscription", "resource_group", "workspace", "pid")
    data = {key: value for key, value in asdict(running).items() if key in keys}
    if as_json:
        session.out_data(inert.as_json(data))
    else:
        scope = running.scope
        workspace = f"{scope.resource_group}/{scope.workspace}, subscription {scope.subscription}"
        session.out(
            f"Azure Machine Learning is emulated at {running.url}\n  workspace {workspace}\n"
            '  in another terminal: eval "$(mlctl emulator env)"; Ctrl-C stops it'
        )
    sys.stdout.flush()


COMMANDS = {
    "emulator": Group(
        "The simulated cloud as Azure's REST API: for the Azure SDK, `az rest` and your programs.",
        {"start": start, "env": env},
    )
}
