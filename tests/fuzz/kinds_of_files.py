"""Files that are no files, in the places where commands and documents name files."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.fuzz.batches import Trial

PLACES = {
    "environment.yml": "name: e\nimage: ubuntu\nconda_file: {}\n",
    "build.yml": "name: e\nbuild:\n  path: {}\n",
    "model.yml": "name: m\nversion: 1\npath: {}\n",
    "data.yml": "name: d\nversion: 1\ntype: uri_folder\npath: {}\n",
    "deployment.yml": (
        "name: d\nendpoint_name: e\nmodel: {{path: {0}}}\ncompute: azureml:cpu\n"
        "code_configuration: {{code: {0}, scoring_script: a.py}}\n"
        "environment: {{image: u, conda_file: {0}}}\n"
    ),
    "pipeline.yml": "name: d\nendpoint_name: e\ntype: pipeline\ncomponent: {}\n",
    "job.yml": (
        "type: command\ncommand: x\ncode: {}\nenvironment: azureml:e:1\ncompute: azureml:cpu\n"
    ),
}
KINDS = (
    "environment",
    "environment",
    "model",
    "data",
    "batch-deployment",
    "batch-deployment",
    "job",
)
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("validate", "ODD"),
    ("plan", "ODD"),
    ("apply", "ODD", "--yes"),
    ("convert", "ODD"),
    ("compute", "create", "--file", "ODD"),
    ("compute", "create", "-n", "c", "--type", "amlcompute", "--tags", "@ODD"),
    ("batch-endpoint", "invoke", "-n", "e", "--file", "ODD"),
    ("batch-endpoint", "invoke", "-n", "e", "--input", "ODD"),
    ("local", "preemption", "set", "--trace", "ODD"),
    ("job", "download", "-n", "j", "--download-path", "ODD"),
    ("explain", "ODD"),
    ("validate", "."),
)
NAMES = (
    "odd.yml",
    "a b.yml",
    "a\nb.yml",
    "\udcff.yml",
    "\u202e.yml",
    "-.yml",
    "*.yml",
    "x" * 200 + ".yml",
)
SPARSE = 64 << 20  # bytes; code is hashed whole, and more would take long
DEEP = 400


def case(trial: Trial) -> None:
    """A few odd files, each where a command or a document names it."""
    random = trial.random
    for _ in range(3):
        name = random.choice(NAMES)
        odd = trial.folder / name
        if not os.path.lexists(odd):
            random.choice(MAKERS)(odd)
        command = random.choice(COMMANDS)
        if random.random() < 0.5:
            at = random.randrange(len(PLACES))
            place = list(PLACES)[at]
            text = list(PLACES.values())[at].format(repr(name).replace("\\n", "\n"))
            (trial.folder / place).write_text(text, errors="surrogateescape")
            command = random.choice(
                [
                    ("validate", "."),
                    ("plan", place),
                    ("apply", place, "--yes"),
                    (KINDS[at], "create", "-f", place),
                ]
            )
        # A pipe that is named is waited for, and all of a machine takes long, as it should.
        if not (odd.is_fifo() or (odd.is_symlink() and str(odd.readlink()) == "/")):
            trial.run(*(one.replace("ODD", name) for one in command))
        trial.run("validate", ".")
    for one in (trial.folder / name for name in NAMES):
        if one.is_dir() and not one.is_symlink():
            one.chmod(0o700)


LINKS = ("/dev/zero", ".", "..", "/", "odd.yml", "/proc/self", "/proc/self/mem", "/dev/full")
CONTENTS = (b"", b"\xff\xfe\x00\xd8" * 100, b"name: x\nname: x\n\x00", b"[" * 5000)


def _sparse(odd: Path) -> None:
    with odd.open("wb") as file:
        file.truncate(SPARSE)


def _deep(odd: Path) -> None:
    odd.mkdir()
    here = os.open(odd, os.O_RDONLY)
    for _ in range(DEEP):
        os.mkdir("d", dir_fd=here)  # the path would be too long
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def _folder(odd: Path) -> None:
    odd.mkdir()
    for number in range(3):
        os.mkfifo(odd / f"{number}.py")
    (odd / "up").symlink_to("..")
    (odd / ".amlignore").write_text("**/" * 300 + "a\n[z-a]\n\\\n!\n")


MAKERS: tuple[Callable[[Path], object], ...] = (
    *(os.mkfifo, _sparse, _deep, _folder),
    *(partial(Path.symlink_to, target=one) for one in LINKS),
    *(partial(Path.write_bytes, data=one) for one in CONTENTS),
)
