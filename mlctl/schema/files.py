"""Load the schema files, from the installed package or the repository.

A schema may use fields of another one, so that each fact about a field is in one file: `"$ref":
"commandJob.schema.json#/properties/command"`. `load` includes such files by name in `$defs` (a
compound schema document, JSON Schema 2020-12, section 9.3).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from mlctl.pointer import Data
from mlctl.schema.structure import Schema, dereference, without_shorthand

SUFFIX = ".schema.json"
_FILE = re.compile(r'"\$ref": "([^"#]+)')


def names() -> tuple[str, ...]:
    """Return the names that `load` knows: `amlCompute`, `batchDeployment`, ..."""
    return tuple(sorted(path.name.removesuffix(SUFFIX) for path in _folder().glob(f"*{SUFFIX}")))


@cache
def load(name: str) -> Schema:
    """Load a schema with what it uses of other files; read once.

    Raises:
        FileNotFoundError: the schema does not exist.
    """
    root = _parsed(name)
    files = _taken(name)
    if files:
        along = {file: _embedded(file) for file in files}
        whole = _moved(root, "")
        root = {**whole, "$defs": {**whole.get("$defs", {}), **along}}
    return dereference(root, root)


def texts() -> dict[str, str]:
    """Return file name -> text of every schema, each self-contained, for editors."""
    return {f"{name}{SUFFIX}": _text(name) for name in names()}


def _text(name: str) -> str:
    return json.dumps(without_shorthand(load(name)), ensure_ascii=False, indent=1) + "\n"


@cache
def _parsed(name: str) -> Schema:
    schema: Mapping[str, Data] = json.loads(_read(name))
    return schema


def _taken(name: str) -> list[str]:
    """Return the files that a schema uses, directly or indirectly, in order."""
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
    """Return a whole file for the `$defs` of another."""
    root = _parsed(file.removesuffix(SUFFIX))
    moved = _moved(root, f"/$defs/{file}")
    return {key: value for key, value in moved.items() if key not in ("$schema", "$id", "examples")}


def _moved(part: Data, under: str) -> Data:
    """Return a part of a schema moved to `under`, with its references adjusted."""
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
