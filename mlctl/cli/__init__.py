"""The command line: parse, wire, print, exit. The only place that exits."""

from __future__ import annotations

import sys


def main() -> None:
    """The `mlctl` command."""
    if sys.argv[1:] in (["--version"], ["version"]):  # answered before anything heavy is imported
        from mlctl.version import __version__

        print(f"mlctl {__version__}")  # noqa: T201
        return
    from mlctl.cli.run import run
    from mlctl.cli.shell import streams

    streams.prepare()
    sys.exit(run(sys.argv[1:]))
