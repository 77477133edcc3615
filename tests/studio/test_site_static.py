"""What the pages load is what was looked at, and none of it is loaded from elsewhere."""

from __future__ import annotations

import hashlib
import re
import tomllib
from pathlib import Path

import mlctl.studio

HERE = Path(mlctl.studio.__file__).parent
STATIC = HERE / "static"
OWN = {"studio.js", "studio.css", "VENDORED.toml"}


def test_vendored_files_are_as_npm_has_them() -> None:
    vendored = tomllib.loads((STATIC / "VENDORED.toml").read_text())
    hashes = {name: hashlib.sha256((STATIC / name).read_bytes()).hexdigest() for name in vendored}
    assert hashes == {name: entry["sha256"] for name, entry in vendored.items()}


def test_every_file_is_mlctls_own_or_has_a_package_and_a_licence() -> None:
    vendored = tomllib.loads((STATIC / "VENDORED.toml").read_text())
    licences = {f"{name.partition('.')[0]}.LICENSE" for name in vendored}
    assert {path.name for path in STATIC.iterdir()} == OWN | set(vendored) | licences


def test_pages_have_no_script_style_or_handler_of_their_own() -> None:
    for template in (HERE / "templates").iterdir():
        text = template.read_text()
        assert not re.search(r"<script(?! src=)|<style|\sstyle=|\son\w+=|https?://", text), template
