"""`--replace-strategy`: in place, or under a new name that is written into the files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Protocol

import typer

from mlctl import files, source
from mlctl.applying.kept import Kept
from mlctl.backends.ports.backend import Backend, SupportsNames
from mlctl.cli.shell.session import Session
from mlctl.cli.shell.streams import OutputError
from mlctl.diagnostics import Report
from mlctl.journal import JournalFile
from mlctl.kinds import kind_of
from mlctl.kinds.address import Address
from mlctl.planning.blue_green.renaming import (
    CannotRename,
    left_over,
    mentions,
    new_address,
    renamed_texts,
    to_rename,
)
from mlctl.planning.blue_green.successors import NONE, Successors
from mlctl.planning.model import ActionReason
from mlctl.planning.steps.work import Work
from mlctl.project.steps import NewText, Planned
from mlctl.render.plan.patch import patch_of
from mlctl.render.terminal.terminal import clean
from mlctl.service_errors import ServiceError
from mlctl.source.files import STDIN

_ROUNDS = 10  # a new name may have others replaced, which get one, too
_MOST = 1 << 26  # bytes of a file
ORDINARY = (
    "\nThe ordinary plan of these files, with --prune, does the rest but this: what no file says"
    "\nof the old ones (tags, a default deployment) only a saved plan takes over (--out)."
)


class Strategy(StrEnum):
    """How a resource is replaced."""

    IN_PLACE = "in-place"
    BLUE_GREEN = "blue-green"


ReplaceStrategy = Annotated[
    Strategy,
    typer.Option(
        "--replace-strategy",
        help="in-place: delete, then create. blue-green: create under a new name, which is written"
        " into the files, point what refers to it there, and delete the old one last.",
    ),
]


class PlanOnce(Protocol):
    """Loads the files as they are to be, and plans them."""

    def __call__(self, report: Report, successors: Successors = NONE) -> Planned | None:
        """The plan; None where the files have errors, which are printed."""


def with_new_names(
    session: Session, backend: Backend, paths: Sequence[str], report: Report, once: PlanOnce
) -> Planned | None:
    """The plan of the files with new names for what would be replaced, and what they are to say.

    None where the files have errors, or something cannot be renamed, which is printed.
    """
    try:
        planned, renames, texts = _renamed(session, backend, report, once)
    except CannotRename as error:
        report.add(error.found)
        session.show_findings([error.found])
        return None
    if planned is None or not texts:
        return planned
    for told in _untouched(session, paths, renames, texts):
        session.note(clean(f"note: {told}"))
    return replace(
        planned,
        texts={path: NewText(files.read(path, _MOST), text) for path, text in texts.items()},
    )


def _renamed(
    session: Session, backend: Backend, report: Report, once: PlanOnce
) -> tuple[Planned | None, Successors, Mapping[Path, str]]:
    """The plan of the renamed files, the new addresses by the old ones, and the texts.

    Raises:
        CannotRename: something cannot be renamed.
    """
    first = planned = once(report)
    renames: dict[Address, Address] = {}
    texts: Mapping[Path, str] = {}
    for _ in range(_ROUNDS):
        fresh = list(to_rename(planned.plan)) if planned else []
        if first is None or not fresh:
            break
        for one in fresh:
            known = {*first.graph.resources, *renames.values()}
            renames[one.address] = new_address(one, known, partial(_is_taken, backend))
        texts = renamed_texts(first.graph, renames, session.settings.project.every_overlay())
        with files.as_if_written({path: text.encode() for path, text in texts.items()}):
            again = Report(report.ignore, report.select, strict=report.strict)
            planned = once(again, renames)
        left = left_over(planned.graph, renames) if planned else None
        if left is not None:
            raise left
    return planned, renames, texts


def _is_taken(backend: Backend, address: Address) -> bool:
    """Whether somebody has the name: here, or in the region where it must be unique there."""
    if backend.read([address]):
        return True
    if not (kind_of(address).arm.unique_in_region and isinstance(backend, SupportsNames)):
        return False
    return backend.taken(address, backend.location) is not None


def _untouched(
    session: Session, paths: Sequence[str], renames: Successors, texts: Mapping[Path, str]
) -> Iterator[str]:
    """What the new names reach that is not planned here, and what they do not reach."""
    project = session.settings.project
    others = [one for one in project.environments if one != project.environment]
    if others:
        yield f"these are the files of {', '.join(others)}, too: the new names hold there as well"
    ours = [project.document.source.name] if project.document else []
    named = [one for one in (*paths, *ours) if one != STDIN]
    with files.as_if_written({path: text.encode() for path, text in texts.items()}):
        for one in source.discover(named, Report(), own=True):
            try:
                text = files.read(Path(one.path), _MOST).decode(errors="replace")
            except OSError:
                continue  # it lies there, and is nobody's
            for line, old in mentions(text, renames):
                yield f"{one.path}:{line} still says {old}, and is left as it is"


def patch(planned: Planned) -> str:
    """What the files are to say otherwise; "" where they stay."""
    return patch_of({path: one.after for path, one in planned.texts.items()})


def write(session: Session, texts: Mapping[Path, NewText]) -> None:
    """Write all of the files, or none.

    Raises:
        OutputError: one cannot be written, or has changed since it was planned.
    """
    try:
        for path, one in texts.items():
            if files.read(path, _MOST) != one.before:
                message = f"{path} has changed since it was read: nothing was written; run it again"
                raise OutputError(message)
        files.write_all({path: one.after.encode() for path, one in texts.items()})
    except OSError as error:
        why = error.strerror or error
        raise OutputError(f"cannot write {error.filename}: {why}; nothing was changed") from None
    for path in texts:
        session.note(f"wrote {path}")


def write_and_keep(
    session: Session, texts: Mapping[Path, NewText], work: Work, journal: JournalFile
) -> None:
    """Write the files once the journal says what only the workspace says of the old names.

    Raises:
        OutputError: a file cannot be written, or has changed since it was planned.
        ServiceError: the journal cannot be written.
    """
    Kept(work, journal).begin()
    try:
        write(session, texts)
    except OutputError:
        journal.keep(())
        raise


def left_to_do(planned: Planned, backend: Backend) -> Iterator[str]:
    """What of the old names is still there after an apply that did not end well, and what to do."""
    yield "The files have the new names: apply them again for the rest, then do what is left here:"
    plan = planned.plan
    old = [one for one in plan.changes if one.reason is ActionReason.SUPERSEDED]
    try:
        there = backend.read([one.address for one in old])
    except ServiceError:
        there = {one.address: one.live for one in old if one.live is not None}
    for address in sorted(there, reverse=True):
        above = f" -e {address.parent}" if address.parent else ""
        yield f"  mlctl {address.kind} delete -n {address.name}{above}"
    if there and planned.project is not None:
        yield f"`mlctl apply --prune` deletes what is of the project `{planned.project}` by itself."
