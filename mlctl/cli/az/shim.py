"""`mlctl az-shim`: an executable `az` that runs the `az ml` commands of scripts with mlctl."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import sys
from pathlib import Path

from mlctl import files
from mlctl.backends import LOCAL_DB
from mlctl.cli.az.jobs import POLLING
from mlctl.cli.az.stand_in import PASS_THROUGH, is_shim
from mlctl.cli.shell import Session, flag
from mlctl.cli.shell.session import AS_AZ
from mlctl.service_errors import Permanent


def az_shim(
    session: Session,
    install: Path | None = flag(metavar="DIR"),
    pass_through: bool = flag(default=False),
) -> None:
    """Route `az ml ...` to mlctl, in scripts too, with an executable `az` placed first on PATH."""
    folder = install or _own_folder(session, pass_through=pass_through)
    variables = {POLLING: "60", AS_AZ: "1"} | ({PASS_THROUGH: "1"} if pass_through else {})
    lines = (f'export {name}="${{{name}-{value}}}"' for name, value in variables.items())
    text = _script("az", PYTHON=shlex.quote(sys.executable), VARIABLES="\n".join(lines))
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
        session.out_data(_script("exports", FOLDER=place, STATE=str(LOCAL_DB)))


def _add_curl(session: Session, folder: Path) -> None:
    """Put a `curl` beside the `az`, if there is one on the path to stand in for."""
    for place in session.environment.get("PATH", os.defpath).split(os.pathsep):
        real = shutil.which("curl", path=place or ".")
        if real and not is_shim(Path(real)):
            text = _script("curl", CURL=shlex.quote(real), PYTHON=shlex.quote(sys.executable))
            files.write(folder / "curl", text.encode())
            (folder / "curl").chmod(0o755)
            return


def _script(name: str, **values: str) -> str:
    """Return a shell script from the file `shim_NAME.sh`, with values in place of `@WORD@`."""
    text = Path(__file__).with_name(f"shim_{name}.sh").read_text(encoding="utf-8")
    return re.sub(r"@([A-Z]+)@", lambda match: values[match[1]], text)


def _own_folder(session: Session, *, pass_through: bool) -> Path:
    """Return a folder of this installation of mlctl, the same every time."""
    home = Path(session.environment.get("HOME") or files.expanded(Path("~")))
    cache = Path(session.environment.get("XDG_CACHE_HOME") or home / ".cache")
    name = hashlib.sha256(os.fsencode(sys.executable)).hexdigest()[:8]
    return cache / "mlctl" / f"az-{name}{'-pass-through' * pass_through}"


COMMANDS = {"az-shim": az_shim}
