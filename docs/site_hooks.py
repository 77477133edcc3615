"""What MkDocs does not know: pages that lie above docs/, links to other files, the decisions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
_ABOVE = {"index.md": "README.md", "changelog.md": "CHANGELOG.md"}  # pages, and what they show
_LINK = re.compile(r"(?<=\]\()(?!https?:|#|mailto:)([^)\s#]*)(#[^)\s]*)?(?=\))")


def on_config(config: Any) -> Any:
    """List the pages of commands and rules, and the decisions, in their order."""
    tabs = {title: entries for tab in config.nav for title, entries in tab.items()}
    for folder in ("cli", "rules"):
        pages = sorted((ROOT / "docs" / folder).glob("*.md"))
        entry = next(entry for entry in tabs["Reference"] if f"{folder}.md" in entry.values())
        title = next(iter(entry))
        entry[title] = [f"{folder}.md", *(f"{folder}/{page.name}" for page in pages)]
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    tabs["Contribute"].append({"Decisions": [f"decisions/{page.name}" for page in pages]})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages whose text lies above docs/."""
    for page, source in _ABOVE.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Let links lead to pages where there are any, and to the repository elsewhere."""
    source = page.file.src_uri
    folder = ROOT if source in _ABOVE else (ROOT / "docs" / source).parent
    pages = {file.src_uri for file in files}
    above = {source: page for page, source in _ABOVE.items()}

    def link(match: re.Match[str]) -> str:
        path, anchor = match[1], match[2] or ""
        if not path:
            return match[0]
        target = (folder / path).resolve()
        if not target.is_relative_to(ROOT) or not target.exists():
            return match[0]  # MkDocs says what is wrong with it
        inside = target.relative_to(ROOT).as_posix()
        wanted = above.get(inside) or inside.removeprefix("docs/")
        if wanted in pages and (inside in above or inside.startswith("docs/")):
            up = "../" * source.count("/")
            return f"{up}{wanted}{anchor}"
        kind = "tree" if target.is_dir() else "blob"
        return f"{config.repo_url}/{kind}/main/{inside}{anchor}"

    return _LINK.sub(link, markdown)


def on_post_page(output: str, **_: Any) -> str:
    """Leave out what would make a page ask GitHub for the repository's stars; name the search."""
    named = output.replace('role="dialog"', 'role="dialog" aria-label="Search"')
    return named.replace(' data-md-component="source"', "")
