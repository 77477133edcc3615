"""The files of the schemas: in the installed package, or at the top of the repository."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from mlctl.pointer import Data

_SUFFIX = ".schema.json"


def names() -> tuple[str, ...]:
    """The names that `load` knows: `amlCompute`, `batchDeployment`, ..."""
    return tuple(sorted(path.name.removesuffix(_SUFFIX) for path in _folder().glob(f"*{_SUFFIX}")))


@cache
def load(name: str) -> Mapping[str, Data]:
    """The schema as its file has it; read once.

    Raises:
        FileNotFoundError: there is no such schema.
    """
    schema: Mapping[str, Data] = json.loads(_read(name))
    return schema


def texts() -> dict[str, str]:
    """File name -> content of every schema, for editors that want them on disk."""
    return {f"{name}{_SUFFIX}": _read(name) for name in names()}


def _folder() -> Path:
    package = Path(__file__).parents[1] / "schemas"
    return package if package.is_dir() else Path(__file__).parents[2] / "schemas"


def _read(name: str) -> str:
    return (_folder() / f"{name}{_SUFFIX}").read_text(encoding="utf-8")
