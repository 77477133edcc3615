"""The program of docs/python.md runs, on files with variables and an environment."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import mlctl
from tests.builders.paths import LOW_PRIORITY, ROOT
from tests.builders.shell import edit


def test_the_program_of_the_page_runs_on_files_with_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(LOW_PRIORITY, tmp_path / "infra")
    cluster = tmp_path / "infra" / "low-pri-cluster.yml"
    edit(cluster, "max_instances: 2", "max_instances: ${{ var.most }}")
    (tmp_path / "mlctl.yml").write_text("environments: {prod: {variables: {most: 3}}}\n")
    monkeypatch.chdir(tmp_path)
    opened = mlctl.open_workspace
    monkeypatch.setattr(mlctl, "open_workspace", lambda _backend, **_parts: opened())
    page = (ROOT / "docs" / "python.md").read_text()
    program = page.partition("```python\n")[2].partition("```")[0]
    names: dict[str, object] = {}
    exec(program.replace("files=5000", "files=50, runs=20"), names)
    printed = capsys.readouterr().out
    assert "compute/low-pri-cluster CREATE" in printed
    assert "True 4 0 0" in printed
    assert "dedicated " in printed
