"""The files of the schemas: in the installed package, or at the top of the repository.

A schema may take fields of another one, so that what is true of a field stands in one file:
`"$ref": "commandJob.schema.json#/properties/command"`. `load` brings what is taken along, under the
name of its file in `$defs` (a compound schema document, JSON Schema 2020-12, section 9.3).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from mlctl.pointer import Data
from mlctl.schema.structure import Schema, dereferenced, without_shorthand

SUFFIX = ".schema.json"
_FILE = re.compile(r'"\$ref": "([^"#]+)')


def names() -> tuple[str, ...]:
    """The names that `load` knows: `amlCompute`, `batchDeployment`, ..."""
    return tuple(sorted(path.name.removesuffix(SUFFIX) for path in _folder().glob(f"*{SUFFIX}")))


@cache
def load(name: str) -> Schema:
    """The schema, with what it takes of other files; read once.

    Raises:
        FileNotFoundError: there is no such schema.
    """
    root = _parsed(name)
    files = _taken(name)
    if files:
        along = {file: _embedded(file) for file in files}
        whole = _moved(root, "")
        root = {**whole, "$defs": {**whole.get("$defs", {}), **along}}
    return dereferenced(root, root)


def texts() -> dict[str, str]:
    """File name -> text of every schema, each complete in itself, for editors."""
    return {f"{name}{SUFFIX}": _text(name) for name in names()}


def _text(name: str) -> str:
    return json.dumps(without_shorthand(load(name)), ensure_ascii=False, indent=1) + "\n"


@cache
def _parsed(name: str) -> Schema:
    schema: Mapping[str, Data] = json.loads(_read(name))
    return schema


def _taken(name: str) -> list[str]:
    """The files that a schema takes something of, and those that these do, in order."""
    files: dict[str, None] = {}
    new = _FILE.findall(_read(name))
    while new:
        file = new.pop(0)
        if file not in files:
            files[file] = None
            new += _FILE.findall(_read(file.removesuffix(SUFFIX)))
    return list(files)


@cache
def _embedded(file: str) -> Schema:
    """A whole file as it stands in the `$defs` of another."""
    root = _parsed(file.removesuffix(SUFFIX))
    moved = _moved(root, f"/$defs/{file}")
    return {key: value for key, value in moved.items() if key not in ("$schema", "$id", "examples")}


def _moved(part: Data, under: str) -> Data:
    """A part of a schema that now stands at `under`: all that it refers to is in one document."""
    if isinstance(part, list):
        return [_moved(item, under) for item in part]
    if not isinstance(part, dict):
        return part
    moved = {key: _moved(value, under) for key, value in part.items()}
    ref = moved.get("$ref")
    if isinstance(ref, str):
        file, _, at = ref.partition("#")
        moved["$ref"] = f"#/$defs/{file}{at}" if file else f"#{under}{at}"
    return moved


def _folder() -> Path:
    package = Path(__file__).parents[1] / "schemas"
    return package if package.is_dir() else Path(__file__).parents[2] / "schemas"


@cache
def _read(name: str) -> str:
    return (_folder() / f"{name}{SUFFIX}").read_text(encoding="utf-8")
