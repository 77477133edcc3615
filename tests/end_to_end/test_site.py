"""The documentation is a site: every page is in it, and every link leads somewhere."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.paths import ROOT

pytest.importorskip("mkdocs", reason="mkdocs is not installed")


def build(site: Path) -> subprocess.CompletedProcess[str]:
    """Build the site; a warning fails."""
    line = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(site)]
    return subprocess.run(line, capture_output=True, text=True, check=False, cwd=ROOT)


@pytest.mark.slow
def test_the_site_has_every_page_and_can_be_searched(tmp_path: Path) -> None:
    done = build(tmp_path / "site")
    assert done.returncode == 0, done.stderr
    docs = ROOT / "docs"
    written = (page.relative_to(docs) for page in docs.rglob("*.md"))
    pages = {page.stem for page in written if page.parts[0] != "share" and page.stem != "index"}
    built = {one.parent.name for one in (tmp_path / "site").rglob("index.html")}
    assert pages <= built
    index = json.loads((tmp_path / "site" / "search" / "search_index.json").read_text())
    assert any("MLC302" in one["text"] for one in index["docs"])
    first = (tmp_path / "site" / "index.html").read_text()
    assert 'href="cli/"' in first
    assert 'href="https://github.com/mlctl/mlctl/tree/main/docs/decisions"' in first
