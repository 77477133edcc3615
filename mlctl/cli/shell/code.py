"""Whether the simulated cloud runs the user's own code, by a flag or the user's setting.

The setting is in the user's folder, by the path of the state file: no repository can bring it
along, neither in `mlctl.yml` nor in a state file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from mlctl import files
from mlctl.backends import LOCAL_DB
from mlctl.cli.parser.arguments import InvalidValue
from mlctl.cli.parser.declare import flag
from mlctl.cli.shell.session import Session
from mlctl.dataclasses import dataclass

_LARGEST = 1 << 20  # bytes of the setting


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeArgs:
    """Whether code runs, and in which Python."""

    run_code: bool = flag(default=False)
    python: str | None = flag(metavar="EXE")


def python_of(session: Session, args: CodeArgs) -> str | None:
    """Return the interpreter that runs code; None if none is to run."""
    stored = read(session.environment).get(key(session.environment))
    if not args.run_code and stored is None:
        return None
    from mlctl.rehearsal.process import find_python

    try:
        return find_python(args.python or stored or None)
    except OSError as error:
        raise InvalidValue(str(error), flag="--python") from None


def backend_is_local(session: Session, args: CodeArgs) -> bool:
    """Whether code can run, which only the simulated cloud does."""
    is_local = session.backend_name == "local"
    if args.run_code and not is_local:
        raise InvalidValue(
            f"the {session.backend_name} backend runs code itself", flag="--run-code"
        )
    return is_local


def key(environment: Mapping[str, str]) -> str:
    """Return the state file of the simulated cloud, which is the key of the setting."""
    return str(files.real(Path(environment.get("MLCTL_LOCAL_DB") or LOCAL_DB).absolute()))


def _file(environment: Mapping[str, str]) -> Path:
    folder = environment.get("XDG_CONFIG_HOME") or Path(environment.get("HOME", "/"), ".config")
    return Path(folder, "mlctl", "run-code.json")


def read(environment: Mapping[str, str]) -> dict[str, str]:
    """Read which state files' clouds run code, with the Python of each ("": mlctl's own)."""
    try:
        data = json.loads(files.read(_file(environment), _LARGEST))
    except (OSError, ValueError):
        return {}
    return {str(name): str(value) for name, value in data.items()} if isinstance(data, dict) else {}


def write(environment: Mapping[str, str], state: str, python: str | None) -> None:
    """Save by which Python the cloud of a state file runs code; None: it does not.

    Raises:
        OSError: it cannot be written.
    """
    settings = {name: value for name, value in read(environment).items() if name != state}
    if python is not None:
        settings[state] = python
    file = _file(environment)
    file.parent.mkdir(parents=True, exist_ok=True)
    files.write(file, (json.dumps(settings, indent=2) + "\n").encode(), private=True)
