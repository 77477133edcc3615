"""`mlctl apply --resume`: what an apply that did not end has begun, and what it was of."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from mlctl.cli.parser.arguments import UsageError
from mlctl.cli.shell.project_paths import is_plan
from mlctl.cli.shell.session import Session

Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Put back what an apply that did not end has taken away, and nothing else;"
        " of a saved plan, carry out the rest of it.",
    ),
]


def resumed_paths(session: Session) -> list[str] | None:
    """What the applies that did not end were of: files, or one saved plan; None where all ended.

    Raises:
        JournalError: a journal is damaged, or cannot be read.
        UsageError: the files are not there any more.
    """
    unfinished = session.journals.unfinished()
    if not unfinished:
        where = _short(str(session.journals.folder.absolute()))
        scope = session.journals.scope
        workspace = f"{scope.resource_group}/{scope.workspace}"
        session.note(
            f"Nothing to resume: no apply to {workspace} has left anything behind in `{where}`."
            " Of files that have an mlctl.yml elsewhere: mlctl apply --resume PATH..."
        )
        return None
    named = list(dict.fromkeys(path for journal in unfinished for path in journal.paths))
    gone = [path for path in named if not (Path(path).exists() or glob.has_magic(path))]
    if gone:
        raise UsageError(
            f"`{gone[0]}`, which an apply that did not end was of, is not there any more:"
            " name the files yourself, mlctl apply --resume PATH..."
        )
    files = [path for path in named if not is_plan(Path(path))]
    return [_short(path) for path in files or named[-1:]]


def check_flags(*, target: Sequence[str] | None, prune: bool, renames: bool) -> None:
    """Refuse what `--resume` cannot be combined with.

    Raises:
        UsageError: one of these was given.
    """
    given = {"--target": bool(target), "--prune": prune, "--replace-strategy": renames}
    for flag, said in given.items():
        if said:
            raise UsageError(f"--resume ends what was begun, and takes no {flag}.")


def _short(path: str) -> str:
    """The path as people would write it here."""
    whole, here = Path(path), Path.cwd()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) else path
