"""Virtual environments for the environments of documents, cached by their content.

conda's packages are taken by their names on the package index, as most have the same there; what
is no package of Python is left out, with a note. The resolver is that of uv, or of pip.

The `python` and `pip` that a command finds are those of its Python. On Azure the container of a
step is its own. Here `pip install` makes a virtual environment in the folder of the step first,
which sees the packages of the Python beside its own: neither that Python nor another step changes.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from mlctl import files, source
from mlctl.dataclasses import dataclass, replace
from mlctl.digests import sha256
from mlctl.pointer import Data
from mlctl.running.model import EnvironmentSource, JobPlan, RunError

_MOST = 1 << 20  # bytes of a conda file
_DONE = "mlctl.json"
_CONDA = re.compile(r"(?:[\w.-]+::)?(?P<name>[\w.-]+)\s*(?P<bound>.*)")
_TREE = "\N{MULTIPLICATION SIGN}"
_ERRORS = ("ERROR", _TREE, "error")
_REQUIRES = re.compile(r"[A-Za-z0-9]")
# What is called otherwise on the package index, and what no package of Python is.
_NAMES = {"pytorch": "torch", "py-xgboost": "xgboost", "opencv": "opencv-python"}
_NAMES |= {"matplotlib-base": "matplotlib", "dask-core": "dask", "msgpack-python": "msgpack"}
_NO_PACKAGE = re.compile(
    r"(?:lib|r-|_)[\w.-]*|cudatoolkit|cudnn|pytorch-cuda|cpuonly|nccl|mkl|openjdk|gcc.*|gxx.*|git"
    r"|nodejs|openssl|blas|openmpi|mpich|ffmpeg|cmake|make|curl|wget|conda.*"
)


@dataclass(frozen=True, slots=True)
class Requirements:
    """Packages as pip names them, their Python (`3.10`), and what is left out.

    Paths among the packages are relative to `folder`.
    """

    name: str
    folder: Path
    python: str | None
    packages: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def with_environments(
    plan: JobPlan, cache: Path, python: str, note: Callable[[str], None]
) -> JobPlan:
    """Give each node whose document names packages the Python of its own environment.

    `python` runs the others, and makes the environments where uv is not there.
    """
    pythons: dict[str, str] = {}
    nodes = {}
    for name, node in plan.nodes.items():
        environment = node.environment
        if environment is None:
            nodes[name] = node
            continue
        if environment.name not in pythons:
            needed = requirements(environment)
            if needed is None:
                note(f"note: no file here says what is in `{environment.name}`: `{python}` runs it")
            pythons[environment.name] = (
                python if needed is None else _made(needed, cache, python, note)
            )
        nodes[name] = replace(node, python=pythons[environment.name])
    return replace(plan, nodes=nodes)


def requirements(environment: EnvironmentSource) -> Requirements | None:
    """Return the packages that an environment names; None if no local file does."""
    conda = environment.data.get("conda_file")
    folder = environment.folder
    if isinstance(conda, str):
        path = folder / conda.removeprefix("file:")
        conda, folder = source.plain(text_of(path)), path.parent
    if isinstance(conda, Mapping):
        return _of_conda(replace(environment, folder=folder), conda)
    build = environment.data.get("build")
    context = build.get("path") if isinstance(build, Mapping) else None
    listed = environment.folder / str(context) / "requirements.txt"
    if context is None or not files.is_file(listed):
        return None
    lines = (line.partition(" #")[0].strip() for line in text_of(listed).splitlines())
    return Requirements(
        environment.name,
        listed.parent,
        None,
        tuple(line for line in lines if _REQUIRES.match(line)),
    )


def _of_conda(environment: EnvironmentSource, conda: Mapping[str, Data]) -> Requirements:
    python = None
    packages: list[str] = []
    left_out: list[str] = []
    for entry in _listed(conda.get("dependencies")):
        if isinstance(entry, Mapping):
            packages += [str(line) for line in _listed(entry.get("pip"))]
            continue
        package = as_pip(str(entry))
        if package is None:
            left_out.append(str(entry))
        elif package:
            packages.append(package)
        python = python_of(str(entry)) or python
    return Requirements(
        environment.name, environment.folder, python, tuple(packages), tuple(left_out)
    )


def as_pip(conda: str) -> str | None:
    """Return a package of conda as pip names it; None if it is not for Python, "" for Python."""
    match = _CONDA.fullmatch(conda.strip())
    package = match["name"].lower() if match else ""
    if match is None or _NO_PACKAGE.fullmatch(package):
        return None
    if package in ("python", "pip", "setuptools", "wheel"):
        return ""
    return _NAMES.get(package, package) + _bound(match["bound"])


def python_of(conda: str) -> str | None:
    """Return the version of Python (`3.10`) that a line of conda requests."""
    match = re.match(r"(?:[\w.-]+::)?python\b(?![\w.-]).*?(\d+\.\d+)", conda.strip().lower())
    return match[1] if match else None


def _listed(value: Data) -> Iterator[Data]:
    yield from value if isinstance(value, list) else ()


def _bound(conda: str) -> str:
    """Convert a bound of a version to pip's: conda's `=1.2` is any 1.2, and builds are dropped.

    Origin: docs.conda.io, "Package match specifications".
    """
    text = re.sub(r"\s+", "", conda)
    fuzzy = re.fullmatch(r"=([\w.*]+)(?:=.*)?", text)
    if fuzzy is not None:
        return f"=={fuzzy[1].removesuffix('.*').removesuffix('*')}.*"
    return f"=={text}" if text[:1].isdigit() else text


def text_of(path: Path) -> str:
    """Return the text of a conda file or of requirements.

    Raises:
        RunError: it cannot be read.
    """
    try:
        return files.read(path, _MOST).decode("utf-8-sig", "replace")
    except OSError as error:
        raise RunError(f"`{path}` cannot be read: {error.strerror or error}") from None


def _made(needed: Requirements, cache: Path, python: str, note: Callable[[str], None]) -> str:
    """Return the Python of a virtual environment with these packages, created if missing."""
    uv = shutil.which("uv")
    base = _base(needed, python, uv, note)
    if needed.left_out:
        note(f"note: {needed.name} without {', '.join(needed.left_out)}: no packages of Python")
    key = sha256(json.dumps([base, sorted(needed.packages)]))[:32]
    folder = cache / key
    program = folder / "bin" / "python"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"{key}.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if files.is_file(folder / _DONE):
            return str(program)
        note(f"{needed.name}: installing {', '.join(needed.packages) or 'nothing'}...")
        shutil.rmtree(folder, ignore_errors=True)
        lines = "\n".join(needed.packages)
        make = [uv, "venv", "-q", "--seed", "--python", base] if uv else [base, "-m", "venv"]
        _run([*make, str(folder)], needed)
        listed = folder / "requirements.txt"
        listed.write_text(lines, encoding="utf-8")
        tool = [uv, "pip", "install", "--python"] if uv else []
        tool += [str(program)] if uv else [str(program), "-m", "pip", "install"]
        if needed.packages:
            _run([*tool, "-q", "-r", str(listed)], needed)
        files.write(folder / _DONE, json.dumps({"name": needed.name}).encode())
    return str(program)


def _base(needed: Requirements, python: str, uv: str | None, note: Callable[[str], None]) -> str:
    """Return the Python to create an environment with: of its version, if installed."""
    if needed.python is None:
        return python
    if uv is not None:
        return needed.python
    exact = shutil.which(f"python{needed.python}")
    if exact is not None and _version(exact) != needed.python:
        exact = None  # a shim of a Python that is not installed
    if exact is None and _version(python) != needed.python:
        why = f"{needed.name} is for Python {needed.python}, which is not here"
        note(f"note: {why}: {_version(python)} runs it (uv would fetch it)")
    return exact or python


def _version(python: str) -> str:
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    process = subprocess.run(  # noqa: S603 - the user's own Python
        [python, "-I", "-c", ask], capture_output=True, check=False, text=True
    )
    return process.stdout.strip()


def _run(words: list[str], needed: Requirements) -> None:
    process = subprocess.run(  # noqa: S603 - uv or pip
        words,
        cwd=needed.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    )
    if process.returncode:
        lines = [line.strip() for line in process.stdout.decode(errors="replace").splitlines()]
        raise RunError(
            f"the environment `{needed.name}` cannot be made: {_reason(lines)};"
            " --python names a Python that has its packages"
        )


def _reason(lines: list[str]) -> str:
    """Return the line of pip or uv that says why it failed; of a tree, its two top lines."""
    lines = [line for line in lines if line and not line.startswith("WARNING:")]
    if "ERROR: Exception:" in lines:  # pip's own traceback, whose last line is the reason
        return lines[-1]
    for start in _ERRORS:
        places = [number for number, line in enumerate(lines) if line.startswith(start)]
        if places:
            reason = lines[places[-1] : places[-1] + (2 if start == _TREE else 1)]
            return re.sub(r"^ERROR: | (?:\W*>|\W*▶)(?= )", "", " ".join(reason))
    return lines[0] if lines else "it says nothing"


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


def lay_out_programs(folder: Path, python: str) -> None:
    """Write the programs into `bin` of the folder of a step."""
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
