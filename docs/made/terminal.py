"""`docs/terminal.svg`: a terminal with three commands of the README, and what they print.

`python -m docs.made.terminal` draws it.
"""

from __future__ import annotations

import contextlib
import os
import pty
import shutil
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "terminal.svg"
_COLUMNS = 116
_STEPS = (  # a command, and the parts of its output that are shown
    ("plan . --env dev", (slice(5, 13), slice(63, 68))),
    ("simulate . --env dev --files 3000 --seconds-per-file 8", (slice(2, 7), slice(22, 30))),
    ("rehearse appends.py --input input", (slice(0, 6), slice(9, 10))),
)
_COLOURS = (
    *((46, 52, 64), (239, 107, 115), (126, 200, 122), (229, 192, 107)),
    *((110, 166, 245), (199, 146, 234), (86, 196, 209), (214, 219, 229)),
)
_THEME = TerminalTheme((24, 27, 34), (214, 219, 229), [*_COLOURS], [(125, 133, 150), *_COLOURS[1:]])


def draw() -> str:
    """The picture as SVG, of what the commands print today."""
    console = Console(record=True, width=_COLUMNS, file=StringIO(), force_terminal=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _mlctl(folder, "init low-priority-batch --to . --project scoring")
        samples = ROOT / "samples" / "rehearsal"
        shutil.copy(samples / "scoring" / "appends.py", folder)
        shutil.copytree(samples / "input", folder / "input")
        for command, shown in _STEPS:
            lines = _mlctl(folder, f"{command} --only-show-errors").splitlines()
            console.print(Text(f"$ mlctl {command}", style="bold"))
            for part in shown:
                console.print(Text.from_ansi("\n".join(lines[part])))
            console.print()
    return console.export_svg(
        title="mlctl", theme=_THEME, unique_id="mlctl", code_format=_without_fonts()
    )


def _without_fonts() -> str:
    """rich's frame without the fonts that it would load from elsewhere."""
    from rich._export_format import CONSOLE_SVG_FORMAT

    before, _, rest = CONSOLE_SVG_FORMAT.partition("@font-face")
    return before + rest[rest.rindex("@font-face") :].partition("}}\n")[2]


def _mlctl(folder: Path, arguments: str) -> str:
    """What a terminal shows of a command: colours are for terminals alone."""
    reader, terminal = pty.openpty()
    process = subprocess.Popen(  # noqa: S603 - mlctl itself
        [sys.executable, "-P", "-m", "mlctl", *arguments.split()],
        cwd=folder,
        env={**os.environ, "HOME": str(folder), "COLUMNS": str(_COLUMNS), "TERM": "xterm-256color"},
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    shown = bytearray()
    with contextlib.suppress(OSError):  # EIO: the command has closed its end
        while part := os.read(reader, 65536):
            shown += part
    os.close(reader)
    process.wait()
    return shown.decode().replace("\r\n", "\n")


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
