"""What an upload should not take along is named, once."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlctl.assets.private import private_files
from tests.builders.shell import Run

DEPLOYMENT = """\
$schema: https://azuremlschemas.azureedge.net/latest/model.schema.json
name: heart
version: 1
path: ./model
"""


def folder(root: Path, *names: str) -> Path:
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
    return root


def test_secrets_and_history_are_found_by_their_names(tmp_path: Path) -> None:
    names = ("a.py", ".env", ".env.local", ".env.example", ".git/config", ".git/HEAD", "in/tls.key")
    code = folder(tmp_path, *names)
    assert list(private_files(code)) == [".env", ".env.local", ".git/", "in/tls.key"]


def test_what_is_ignored_is_not_uploaded_and_not_named(tmp_path: Path) -> None:
    code = folder(tmp_path, "a.py", ".env", ".git/config")
    (code / ".amlignore").write_text(".env\n.git/\n")
    assert list(private_files(code)) == []


@pytest.mark.parametrize("target", ["../secret", "../elsewhere"])
def test_a_link_out_of_the_folder_is_named(tmp_path: Path, target: str) -> None:
    folder(tmp_path, "secret", "elsewhere/a", "elsewhere/b", "code/a.py")
    (tmp_path / "code" / "out").symlink_to(target)
    (tmp_path / "code" / "in").symlink_to("a.py")
    assert list(private_files(tmp_path / "code")) == ["out (a link out of it)"]


def test_a_plan_warns_of_it_at_the_path(mlctl: Run, tmp_path: Path) -> None:
    folder(
        tmp_path, "model/weights.bin", "model/.env", "model/.git/a", "model/b.pem", "model/c.key"
    )
    (tmp_path / "model.yml").write_text(DEPLOYMENT)
    found = mlctl("plan", "model.yml")
    assert found.code == 0
    text = found.out + found.err
    assert "MLC411" in text
    assert "model.yml:4:7" in text
    assert "`model` is uploaded with `.env`, `.git/`, `b.pem` and 1 more" in text
