"""Tables as inputs: an MLTable, or files with rows, read by the user's pandas.

Only those transformations of an MLTable are supported that select how files are read and which
columns stay; others are refused, since the rows would differ.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mlctl import files, source
from mlctl.dataclasses import asdict, dataclass, field
from mlctl.pointer import Data
from mlctl.rehearsal.inputs import Inputs, RehearsalError
from mlctl.rehearsal.process import Interpreter

NAME = "MLTable"
_PROGRAM = Path(__file__).with_name("worker") / "table.py"
_FORMATS: dict[str, tuple[str, dict[str, Any]]] = {
    ".csv": ("delimited", {}),
    ".tsv": ("delimited", {"sep": "\t"}),
    ".parquet": ("parquet", {}),
    ".jsonl": ("json_lines", {"lines": True}),
}
_READERS = {f"read_{kind}": kind for kind in ("delimited", "parquet", "json_lines")}
_ENCODINGS = {"utf8": "utf-8", "iso88591": "iso-8859-1", "latin1": "latin-1"}
_HEADERS = {"no_header": None, "from_first_file": 0}


@dataclass(frozen=True, slots=True)
class Specification:
    """How a table is read: its files, by which of pandas' readers, with which columns."""

    files: tuple[Path, ...]
    format: str
    options: Mapping[str, Any] = field(default_factory=dict)
    header_once: bool = False
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()


def is_table(path: Path) -> bool:
    """Whether a folder is an MLTable."""
    return files.is_file(path / NAME)


def find(path: Path) -> Specification:
    """Describe how to read an MLTable, a file with rows, or a folder of such files.

    Raises:
        RehearsalError: nothing has rows, or an MLTable asks for something else.
    """
    real = files.real(path)
    if files.is_file(real / NAME):
        return _mltable(real)
    inside = (real,) if files.is_file(real) else real.rglob("*")
    paths = tuple(sorted(filter(files.is_file, inside)))
    if not paths:
        raise RehearsalError(f"the input `{path}` has no files")
    suffixes = {entry.suffix for entry in paths}
    if len(suffixes) > 1 or not suffixes <= _FORMATS.keys():
        formats = ", ".join(_FORMATS)
        raise RehearsalError(f"the input `{path}` has no rows, as an {NAME} or {formats} has")
    kind, options = _FORMATS[suffixes.pop()]
    return Specification(paths, kind, options)


def load(
    specification: Specification,
    keys: Sequence[str],
    interpreter: Interpreter,
    folder: Path,
    environment: Mapping[str, str],
) -> Inputs:
    """Read a table with the user's Python into a file in `folder`.

    Raises:
        RehearsalError: pandas is missing or cannot read it, or there are no rows.
    """
    folder.mkdir(parents=True, exist_ok=True)
    to = folder / "table.pickle"
    text = json.dumps({**asdict(specification), "keys": keys, "to": to}, default=str)
    timeout = max(1.0, interpreter.ends - time.monotonic())
    try:
        output = interpreter.ask(_PROGRAM, [text], environment, timeout)
        answer = json.loads(output.splitlines()[-1])
    except (subprocess.TimeoutExpired, ValueError, IndexError):
        raise RehearsalError(f"`{interpreter.python}` cannot read the table") from None
    if answer.get("error") in ("ModuleNotFoundError", "ImportError"):
        raise RehearsalError(
            f"rows need pandas: {answer['message']} in this Python; use --python with one that "
            "has it"
        )
    if "error" in answer:
        name = specification.files[0].name
        raise RehearsalError(f"`{name}` cannot be read: {answer['error']}: {answer['message']}")
    if not answer["rows"]:
        raise RehearsalError(f"`{specification.files[0].name}` has no rows")
    size = sum(file.stat().st_size for file in specification.files)
    groups = tuple(tuple(map(str, group["rows"])) for group in answer["groups"])
    values = {str(group["rows"][0]): group["keys"] for group in answer["groups"]}
    return Inputs(
        to,
        tuple(map(str, range(answer["rows"]))),
        tabular=True,
        bytes=size,
        groups=groups,
        keys=values,
    )


def _mltable(folder: Path) -> Specification:
    """Read the file `MLTable` in a folder."""
    text = (folder / NAME).read_text(encoding="utf-8", errors="replace")
    data = source.plain(text)
    if not isinstance(data, dict) or not isinstance(data.get("paths"), list):
        raise RehearsalError(f"`{folder.name}/{NAME}` names no paths")
    names = tuple(file for entry in data["paths"] for file in _files(folder, entry))
    if not names:
        raise RehearsalError(f"`{folder.name}/{NAME}` names no local files")
    kind, options, once = "", {}, False
    columns: dict[str, tuple[str, ...]] = {"keep_columns": (), "drop_columns": ()}
    steps = data.get("transformations")
    for step in steps if isinstance(steps, list) else ():
        name, value = next(iter(step.items())) if isinstance(step, dict) else (str(step), {})
        settings = value if isinstance(value, dict) else {}
        if name in _READERS and not settings.get("include_path_column"):
            kind = _READERS[name]
            options = _options(kind, settings)
            once = settings.get("header") == "from_first_file"
        elif name in columns:
            columns[name] = tuple(map(str, value if isinstance(value, list) else [value]))
        elif name != "convert_column_types":  # pandas finds them itself
            raise RehearsalError(
                f"`{folder.name}/{NAME}`: `{name}` is not supported in a rehearsal"
            )
    if not kind:
        raise RehearsalError(f"`{folder.name}/{NAME}` does not say how its files are read")
    keep, drop = columns.values()
    return Specification(names, kind, options, once, keep, drop)


def _files(folder: Path, entry: Data) -> list[Path]:
    """Return the files that an entry of `paths` names."""
    settings = entry if isinstance(entry, dict) else {}
    if "pattern" in settings:
        return sorted(
            filter(files.is_file, folder.glob(str(settings["pattern"]).removeprefix("./")))
        )
    at = folder / str(settings.get("file", settings.get("folder", "")))
    if "folder" in settings:
        inside = (file for file in at.rglob("*") if file.name != NAME)
        return sorted(filter(files.is_file, inside))
    return [at] if files.is_file(at) else []


def _options(kind: str, settings: Mapping[str, Data]) -> dict[str, Any]:
    """Return the options of an MLTable as pandas' reader accepts them."""
    if kind == "json_lines":
        return {"lines": True}
    if kind == "parquet":
        return {}
    encoding = str(settings.get("encoding", "utf8"))
    return {
        "sep": settings.get("delimiter", ","),
        "encoding": _ENCODINGS.get(encoding, encoding),
        "header": _HEADERS.get(str(settings.get("header")), 0),
    }
