"""A folder, and mlctl in it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests import shell
from tests.shell import Run


@pytest.fixture
def mlctl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Run a command in `tmp_path`, inside this process."""
    return shell.inside(tmp_path, monkeypatch, capsys)


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A copy of the low-priority sample, as `sample/` in `tmp_path`."""
    shutil.copytree(shell.LOW_PRIORITY, tmp_path / "sample")
    return tmp_path / "sample"
