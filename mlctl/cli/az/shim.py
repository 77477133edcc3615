"""`mlctl az-shim`: an executable `az` that runs the `az ml` commands of scripts with mlctl."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import sys
from pathlib import Path

from mlctl import files
from mlctl.backends import LOCAL_DB
from mlctl.cli.az.curl import REAL
from mlctl.cli.az.jobs import POLLING
from mlctl.cli.az.stand_in import CURL, MARK, PASS_THROUGH, is_shim
from mlctl.cli.shell import Session, flag
from mlctl.cli.shell.session import AS_AZ
from mlctl.service_errors import Permanent

_EXECUTABLE = f"""\
#!/bin/sh
# {MARK}: `az ml` goes to mlctl; made by `mlctl az-shim`, and to be removed with its folder.
{{variables}}exec {{python}} -P -m mlctl az "$@"
"""
_CURL = f"""\
#!/bin/sh
# {MARK}: while the backend is local, requests to Azure go to mlctl's emulator.
case "$*" in
*azure.com* | *azureml.ms* | *microsoftonline.com*)
  export {REAL}={{real}}
  exec {{python}} -P -m mlctl az {CURL} "$@"
  ;;
esac
exec {{real}} "$@"
"""
_EXPORTS = """\
# sh, bash and zsh; put it into a script, a profile or a step of CI:  eval "$(mlctl az-shim)"
unset -f az 2>/dev/null || true
unalias az 2>/dev/null || true
PATH={folder}:"$PATH"
MLCTL_LOCAL_DB="${{MLCTL_LOCAL_DB:-$PWD/{state}}}"
export PATH MLCTL_LOCAL_DB
hash -r 2>/dev/null || true
"""


def az_shim(
    session: Session,
    install: Path | None = flag(metavar="DIR"),
    pass_through: bool = flag(default=False),
) -> None:
    """Route `az ml ...` to mlctl, in scripts too, with an executable `az` placed first on PATH."""
    folder = install or _own_folder(session, pass_through=pass_through)
    variables = {POLLING: "60", AS_AZ: "1"} | ({PASS_THROUGH: "1"} if pass_through else {})
    lines = (f'export {name}="${{{name}-{value}}}"\n' for name, value in variables.items())
    text = _EXECUTABLE.format(python=shlex.quote(sys.executable), variables="".join(lines))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files.write(folder / "az", text.encode())
        (folder / "az").chmod(0o755)
        _add_curl(session, folder)
    except OSError as error:
        why = error.strerror or str(error)
        raise Permanent(
            "NoShim", f"cannot write `{folder / 'az'}`: {why}; name another --install DIR"
        ) from None
    if install is not None:
        session.note(f"{folder / 'az'} was written: put {folder} first on the PATH")
    else:
        place = shlex.quote(str(folder))
        session.out_data(_EXPORTS.format(folder=place, state=LOCAL_DB))


def _add_curl(session: Session, folder: Path) -> None:
    """Put a `curl` beside the `az`, if there is one on the path to stand in for."""
    for place in session.environment.get("PATH", os.defpath).split(os.pathsep):
        real = shutil.which("curl", path=place or ".")
        if real and not is_shim(Path(real)):
            names = {"real": shlex.quote(real), "python": shlex.quote(sys.executable)}
            files.write(folder / "curl", _CURL.format(**names).encode())
            (folder / "curl").chmod(0o755)
            return


def _own_folder(session: Session, *, pass_through: bool) -> Path:
    """Return a folder of this installation of mlctl, the same every time."""
    home = Path(session.environment.get("HOME") or files.expanded(Path("~")))
    cache = Path(session.environment.get("XDG_CACHE_HOME") or home / ".cache")
    name = hashlib.sha256(os.fsencode(sys.executable)).hexdigest()[:8]
    return cache / "mlctl" / f"az-{name}{'-pass-through' * pass_through}"


COMMANDS = {"az-shim": az_shim}
