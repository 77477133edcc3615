"""Run commands in containers of their environments' images, by the `docker` on the path.

All files are in the container where they are here: the run's to be read, the command's own folder
to be written, by the user who runs mlctl. What killed mlctl has left is removed by the next run.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from mlctl import files
from mlctl.dataclasses import replace
from mlctl.running.environments import text_of
from mlctl.running.model import EnvironmentSource, JobPlan, LocalData, RunError, RunNode

_WAYS = "--environments venv or --python PROGRAM runs it without"
_OF_CONDA = """\
FROM {image}
COPY conda.yml /tmp/conda.yml
RUN conda env create --quiet --prefix /azureml-envs/mlctl --file /tmp/conda.yml
ENV PATH=/azureml-envs/mlctl/bin:$PATH
"""


def with_images(plan: JobPlan, note: Callable[[str], None]) -> JobPlan:
    """Give each command the image of its environment; docker builds those that are files."""
    _ask("version", "--format", "{{.Server.Version}}")
    commands = {
        name: node.environment
        for name, node in plan.nodes.items()
        if node.environment is not None and node.parallel is None
    }
    by_name = {environment.name: environment for environment in commands.values()}
    images = {name: _image(environment, note) for name, environment in by_name.items()}
    nodes = {
        name: replace(plan.nodes[name], image=images[environment.name])
        for name, environment in commands.items()
    }
    return replace(plan, nodes={**plan.nodes, **nodes})


def _image(environment: EnvironmentSource, note: Callable[[str], None]) -> str:
    """Return the name or the id of the image; "" if no local file names one."""
    image, conda = (environment.data.get(key) for key in ("image", "conda_file"))
    build = environment.data.get("build")
    if image is None and not isinstance(build, Mapping):
        note(f"note: no file here says the image of `{environment.name}`: Python runs it")
        return ""
    if conda is None and image is not None:
        return str(image)
    note(f"{environment.name}: building its image...")
    if isinstance(build, Mapping):
        context = environment.folder / str(build.get("path"))
        file = context / str(build.get("dockerfile_path") or "Dockerfile")
        return _ask("build", "--quiet", "--file", str(file), str(context))
    with tempfile.TemporaryDirectory() as scratch:
        text = json.dumps(conda)  # JSON is YAML
        if isinstance(conda, str):
            text = text_of(environment.folder / conda.removeprefix("file:"))
        Path(scratch, "conda.yml").write_text(text, encoding="utf-8")
        Path(scratch, "Dockerfile").write_text(_OF_CONDA.format(image=image), encoding="utf-8")
        return _ask("build", "--quiet", scratch)


def words(node: RunNode, command: str, folder: Path, root: Path, names: Iterable[str]) -> list[str]:
    """Return the words that run a command of a run in `root`; `names` are its variables."""
    data = [value.path for value in node.inputs.values() if isinstance(value, LocalData)]
    mounts = [*(f"{path}:{path}:ro" for path in (root, *data)), f"{folder}:{folder}"]
    return [
        str(shutil.which("docker")),
        "run",
        "--rm",
        "--init",
        "--network",
        "host",
        "--label",
        _label(folder),
        "--user",
        f"{os.getuid()}:{os.getgid()}",
        *(word for mount in mounts for word in ("--volume", mount)),
        "--workdir",
        str(folder / "code"),
        "--env",
        f"HOME={folder / 'tmp'}",
        *(word for name in names for word in ("--env", name)),
        "--entrypoint",
        "/bin/sh",
        node.image,
        "-c",
        command,
    ]


def remove(folder: Path) -> None:
    """End what runs in containers for a folder, and remove them."""
    left = _ask("ps", "--all", "--quiet", "--filter", f"label={_label(folder)}").split()
    if left:
        _ask("rm", "--force", *left)


def _label(folder: Path) -> str:
    return f"mlctl={files.real(folder)}"


def _ask(*arguments: str) -> str:
    """Run docker, and return its output."""
    program = shutil.which("docker")
    if program is None:
        raise RunError(f"there is no `docker` on the path: {_WAYS}")
    command = [program, *arguments]
    try:
        process = subprocess.run(  # noqa: S603 - the user's docker
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True
        )
    except OSError as error:
        raise RunError(f"`{program}` cannot be run: {error.strerror or error}; {_WAYS}") from None
    if process.returncode:
        lines = process.stderr.strip().splitlines() or ["it says nothing"]
        raise RunError(f"`docker {arguments[0]}` fails: {lines[-1]}; {_WAYS}")
    return process.stdout.strip()
