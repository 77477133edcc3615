"""The command line: parse, wire, print, exit. The only place that exits."""

from __future__ import annotations

import gc
import os
import sys

# Garbage collection starts at 700 new containers by default; a command's mostly live as long as it.
_THRESHOLD = 200_000


def main() -> None:
    """The `mlctl` command."""
    _warn_of_namesakes()
    if sys.argv[1:] in (["--version"], ["version"]):  # answered before anything heavy is imported
        from mlctl.version import __version__

        print(f"mlctl {__version__}")  # noqa: T201
        return
    if sorted(sys.argv[1:]) in (["--verbose", "--version"], ["--verbose", "version"]):
        from mlctl.catalog.tables import every_table
        from mlctl.version import __version__

        tables = [f"{table.as_of} {table.name}: {table.source}" for table in every_table()]
        print("\n".join([f"mlctl {__version__}", "facts, the oldest first:", *tables]))  # noqa: T201
        return
    gc.set_threshold(_THRESHOLD)
    from mlctl.cli.run import run
    from mlctl.cli.shell import streams

    streams.prepare()
    code = run(sys.argv[1:])
    gc.freeze()  # the process ends: collecting garbage would be wasted
    sys.exit(code)


def _warn_of_namesakes() -> None:
    """Warn of a distribution named `mlctl`, which is not this one (`mlctl-azure`).

    Both write the folder `mlctl` and the command. Only a list of names is read, nothing imported.
    """
    for folder in sys.path:
        if not folder.endswith("-packages"):
            continue
        try:
            installed = "\n".join(["", *os.listdir(folder)])  # noqa: PTH208 - pathlib takes 5 ms
        except OSError:
            continue
        _, namesake, name = installed.partition("\nmlctl-")
        if namesake:
            version = name.partition("\n")[0].removesuffix(".dist-info").removesuffix(".egg-info")
            print(  # noqa: T201
                f"warning: the package `mlctl` {version} is somebody else's and overwrites files of"
                " mlctl-azure: pip uninstall mlctl, then pip install --force-reinstall mlctl-azure",
                file=sys.stderr,
            )
