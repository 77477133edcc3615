"""The `python` and `pip` that a command finds: those of its Python, with its own packages.

On Azure the container of a step is its own. Here `pip install` makes a virtual environment in the
folder of the step first, which sees the packages of the Python beside its own: neither that Python
nor another step changes.
"""

from __future__ import annotations

import shlex
from pathlib import Path

PACKAGES = "venv"  # the folder of what a step has installed
_PYTHON = """#!/bin/sh
python={python}
own={own}
if [ "$1 $2" = "-m pip" ] && [ ! -e "$own" ]; then
  "$python" -I -c {make} "$own" "$own.$$" || exit 1
fi
[ -e "$own" ] && python="$own/bin/python"
exec "$python" "$@"
"""
_PIP = '#!/bin/sh\nexec {python} -m pip "$@"\n'
_MAKE = """
import glob, os, site, sys, venv
own, part = sys.argv[1:]
venv.EnvBuilder(with_pip=False).create(part)
lines = ["import site; site.addsitedir(%r)" % place for place in site.getsitepackages()]
folder, = glob.glob(part + "/lib/python*/site-packages")
with open(folder + "/of_its_python.pth", "w") as file:
    file.write("\\n".join(lines))
try:
    os.rename(part, own)
except OSError:
    pass  # another process of the step was faster
"""


def lay_out(folder: Path, python: str) -> None:
    """Write the programs into `bin` of the folder of a step.

    Raises:
        OSError: they cannot be written.
    """
    place = folder / "bin"
    place.mkdir()
    own = shlex.quote(str(folder / PACKAGES))
    texts = {
        "python": _PYTHON.format(python=shlex.quote(python), own=own, make=shlex.quote(_MAKE)),
        "pip": _PIP.format(python=shlex.quote(str(place / "python"))),
    }
    for name, text in texts.items():
        for program in (place / name, place / f"{name}3"):
            program.write_text(text, encoding="utf-8")
            program.chmod(0o755)
