"""Write the pages that are made from the program: `make docs`."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.made import compatibility, lines, man
from docs.made.pages import commands as pages_of_commands
from mlctl.cli.app import build

DOCS = Path(__file__).parent


def pages() -> dict[Path, str]:
    """Each page, and what it should say."""
    root = build()
    flags = compatibility.az_flags((DOCS / "data" / "az-ml.csv").read_text(encoding="utf-8"))
    published = lines.lines((DOCS / "data" / "az-lines.tsv").read_text(encoding="utf-8"))
    return {
        **{DOCS / page: text for page, text in pages_of_commands(root).items()},
        DOCS / "other-tools.md": other_tools(
            tomllib.loads((DOCS / "data" / "pains.toml").read_text(encoding="utf-8"))
        ),
        DOCS / "share" / "mlctl.1": man.page(root),
        **{DOCS / "share" / name: text for name, text in man.COMPLETIONS.items()},
        DOCS / "az-compatibility.md": compatibility.page(
            compatibility.compare_flags(root, flags), lines.summary(published)
        ),
    }


_HEAD = """\
# What other tools get wrong, and what mlctl does

<!-- Generated from docs/data/pains.toml; `make docs` writes it. -->

Complaints of users of `az ml`, its SDK, Terraform, Pulumi, Bicep, kubectl, Atlantis and others in
public threads, and how mlctl behaves. *Solved* means that a test would fail otherwise;
[the list](data/pains.toml) names the tests. {counts}

The first sections are complaints that mlctl was made to solve. The last one comes from forty
complaints collected on 2026-11-23 regardless of what mlctl does: at that time 18 were open, 8
partly solved, 12 solved and 2 out of scope. It lists those that were open or partly solved.
"""


def other_tools(data: dict[str, Any]) -> str:
    """`docs/other-tools.md`, from `docs/data/pains.toml`."""
    pains = data["pain"]
    counted = Counter(pain["state"] for pain in pains)
    counts = ", ".join(f"{counted[state]} {state}" for state in STATES) + "."
    return _HEAD.format(counts=f"Of {len(pains)}: {counts}") + "".join(_sections(data))


STATES = ("solved", "not applicable", "open")
_THREAD = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+)#(?P<number>\d+)")


def _sections(data: dict[str, Any]) -> Iterator[str]:
    for letter, title in data["sections"].items():
        yield f"\n## {title}\n\n| complaint | what mlctl does | state |\n|---|---|---|\n"
        for pain in data["pain"]:
            if pain["id"].startswith(letter):
                threads = ", ".join(map(_link, pain["threads"]))
                cells = f"{pain['complaint']} ({threads})", pain["answer"], _state(pain)
                yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def _state(pain: dict[str, Any]) -> str:
    return f"{pain['state']}: {pain['why']}" if "why" in pain else str(pain["state"])


def _link(thread: str) -> str:
    """`owner/name#1` as a link; an issue's address leads to a pull request too."""
    match = _THREAD.fullmatch(thread)
    if match is None:
        return f"[source]({thread})"
    return f"[{thread}](https://github.com/{match['repository']}/issues/{match['number']})"


if __name__ == "__main__":
    for file, text in pages().items():
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
