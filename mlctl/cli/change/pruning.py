"""`--prune`: what the project owns and no file declares, and how many of it may go."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from mlctl import source
from mlctl.cli.parser.arguments import InvalidValue, UsageError
from mlctl.cli.shell.session import Session
from mlctl.config.loader import LoadedConfig
from mlctl.diagnostics import Report
from mlctl.kinds.address import Address, Scope
from mlctl.planning.ownership.owner import Ownership
from mlctl.planning.ownership.pruning import Prune
from mlctl.source.files import PROJECT_FILE

_FLAG = "--prune"


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneArgs:
    """The flags about ownership of the commands that plan files."""

    no_tags: Annotated[
        bool, typer.Option("--no-tags", help="Tag nothing, even where mlctl.yml names a project.")
    ] = False
    prune: Annotated[
        bool,
        typer.Option(
            _FLAG, help="Delete, too, what the project owns (by its tags) and no file declares."
        ),
    ] = False
    prune_limit: Annotated[
        int | None,
        typer.Option(
            "--prune-limit",
            metavar="N",
            min=0,
            help="Refuse to prune more than N resources; --yes with --prune needs it.",
        ),
    ] = None

    def ownership(self, session: Session) -> Ownership:
        """What the project says of what it makes.

        Raises:
            ProjectError: `mlctl.yml` cannot be used.
            InvalidValue: `--prune` is given, and there is nothing to go by.
            UsageError: `--prune-limit` is given alone.
        """
        found = session.settings.project.ownership(tagged=not self.no_tags)
        if not self.prune:
            if self.prune_limit is not None:
                raise UsageError("--prune-limit is of use with --prune only")
            return found
        if found.project is None:
            raise InvalidValue(
                f"nothing says what is the project's: name it in {PROJECT_FILE} (`project: NAME`)",
                flag=_FLAG,
            )
        if not found.tagged:
            raise InvalidValue(
                "without tags what is declared is the project's, so nothing is owned that no file"
                " declares; `destroy` deletes what a file declares",
                flag=_FLAG,
            )
        return found

    def chosen(
        self, session: Session, scope: Scope, targets: Sequence[str], loaded: LoadedConfig
    ) -> Prune | None:
        """What may be pruned, beside the files that are `loaded`; None where nothing is.

        Raises:
            InvalidValue: only a part of the files is planned, or a file of the folder cannot be
                read: it may declare what would be pruned.
        """
        if not self.prune:
            return None
        if targets:
            raise InvalidValue("--target plans a part of the files; prune with all", flag=_FLAG)
        return Prune(_declared_elsewhere(session, scope, loaded), self.prune_limit)


def _declared_elsewhere(session: Session, scope: Scope, loaded: LoadedConfig) -> Set[Address]:
    """The addresses that the other files of the whole folder of `mlctl.yml` declare."""
    document = session.settings.project.document
    report = Report(select=frozenset({"MLC0"}))
    known = {Path(one).absolute() for one in loaded.files}
    found = source.discover([str(document.folder if document else Path())], report)
    others = [one for one in found if Path(one.path).absolute() not in known]
    elsewhere = session.loader(report, scope=scope, scripts=False).load_files(others)
    if report.failed:
        session.show(report)
        raise InvalidValue(
            "a file of this folder cannot be read, and may declare what would be pruned", flag=_FLAG
        )
    return elsewhere.graph.resources.keys()
