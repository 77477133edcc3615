"""Backends that tests bring along as other packages would: by an entry point."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from mlctl.backends.local.backend import LocalBackend, LocalOperation
from mlctl.kinds.address import Address, Scope
from mlctl.pointer import Data

ENTRY_POINTS = f"[mlctl.backends]\nheld = {__name__}:held\nbroken = {__name__}:broken\n"
SCOPE = ("--subscription", "s", "-g", "g", "-w", "w")


class Held(LocalBackend):
    """Says when the first write has come, and lets it go on when it is told to."""

    name = "held"

    def put(self, address: Address, body: Mapping[str, Data]) -> LocalOperation:
        """A write that waits in the pipe `go`, once."""
        if Path("go").exists():
            Path("reached").write_text(str(address))
            Path("go").read_text()
            Path("go").unlink()
        return super().put(address, body)


class Broken(LocalBackend):
    """Has a bug."""

    name = "broken"

    def list(self, kind: str, parent: str | None = None) -> list[object]:  # type: ignore[override]
        """Fail in a way that nobody foresaw."""
        raise ZeroDivisionError("a bug")


def held(scope: Scope, environment: Mapping[str, str]) -> Held:
    """The entry point."""
    return Held(environment["MLCTL_LOCAL_DB"], scope)


def broken(scope: Scope, _environment: Mapping[str, str]) -> Broken:
    """The entry point."""
    return Broken(":memory:", scope)


def install(folder: Path) -> None:
    """Make a package in `folder` that offers these backends, and the pipes of `Held`."""
    about = folder / "held-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: held\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    # The folder is on PYTHONPATH, which is not enough: it has to be one of site-packages.
    (folder / "sitecustomize.py").write_text(
        f"import site\nsite.getsitepackages = lambda: [{str(folder)!r}]\n"
    )
    for pipe in ("go", "reached"):
        os.mkfifo(folder / pipe)
