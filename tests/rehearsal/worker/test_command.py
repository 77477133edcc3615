"""What runs the user's code is run by the user's own Python, which may be as old as 3.8."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from mlctl.rehearsal.worker import command

_WORKERS = Path(command.__file__).parent
_MLCTL = _WORKERS.parents[1]
_IMPORTED = (  # with the workers, the packages that they are in
    _MLCTL / "__init__.py",
    _MLCTL / "version.py",
    _WORKERS.parent / "__init__.py",
    *_WORKERS.glob("*.py"),
)


@pytest.mark.parametrize("file", _IMPORTED, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_python_3_8_can_import_a_worker(file: Path) -> None:
    module = ast.parse(file.read_text(), feature_version=(3, 8))
    annotated = any(
        isinstance(node, ast.AnnAssign)
        or (isinstance(node, ast.FunctionDef) and node.returns is not None)
        for node in ast.walk(module)
    )
    futures = [node for node in module.body if isinstance(node, ast.ImportFrom)]
    assert not annotated or any(node.module == "__future__" for node in futures)
