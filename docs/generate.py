"""Write the pages that are made from the program: `make docs`."""

from __future__ import annotations

from pathlib import Path

from mlctl.cli import exits, man
from mlctl.cli.app import build
from mlctl.cli.az import compatibility, lines
from mlctl.cli.pages import commands as pages_of_commands
from mlctl.cli.parser import tree

DOCS = Path(__file__).parent


def pages() -> dict[Path, str]:
    """Each page, and what it should say."""
    root = tree.read(build())
    flags = compatibility.az_flags((DOCS / "data" / "az-ml.csv").read_text(encoding="utf-8"))
    published = lines.lines((DOCS / "data" / "az-lines.tsv").read_text(encoding="utf-8"))
    return {
        DOCS / "exit-codes.md": exits.page(),
        DOCS / "cli.md": pages_of_commands(root),
        DOCS / "share" / "mlctl.1": man.page(root),
        **{DOCS / "share" / name: text for name, text in man.COMPLETIONS.items()},
        DOCS / "az-compatibility.md": compatibility.page(
            compatibility.compare_flags(root, flags), lines.summary(published)
        ),
    }


if __name__ == "__main__":
    for file, text in pages().items():
        file.write_text(text, encoding="utf-8")
