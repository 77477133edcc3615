"""Blue-green: write new names for what would be replaced into the files, and plan them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

from mlctl import files, source
from mlctl.backends.ports.backend import Backend, SupportsNames
from mlctl.dataclasses import replace
from mlctl.diagnostics import Diagnostic, Report
from mlctl.files import ON_DISK, Files
from mlctl.kinds import Address, kind_of
from mlctl.planning.blue_green.renaming import (
    NO_SUCCESSOR,
    find_leftover,
    mentions,
    new_address,
    renamed_texts,
    to_rename,
)
from mlctl.planning.blue_green.successors import NONE, CannotRename, Successors
from mlctl.render.terminal.terminal import clean
from mlctl.source.decode import encode
from mlctl.source.files import STDIN
from mlctl.workflow.model import NewText, PlanContext, Planned

_ROUNDS = 10  # renaming may cause further replacements, which are renamed, too
_MOST = 1 << 26  # bytes of a file


class WriteError(Exception):
    """Files cannot be written, or have changed since they were planned; none was written."""


class PlanOnce(Protocol):
    """Loads the files as they will be, and plans them."""

    def __call__(
        self, report: Report, successors: Successors = NONE, files: Files = ON_DISK
    ) -> Planned:
        """Plan the files."""


def with_new_names(
    paths: Sequence[str],
    backend: Backend,
    context: PlanContext,
    report: Report,
    plan_once: PlanOnce,
) -> Planned:
    """Plan the files with new names for what would be replaced, and return their new texts.

    Raises:
        InvalidFiles: the files have errors.
        CannotRename: a resource cannot be renamed.
    """
    first = planned = plan_once(report)
    renames: dict[Address, Address] = {}
    texts: Mapping[Path, str] = {}
    for _ in range(_ROUNDS):
        replaced = list(to_rename(planned.plan))
        if not replaced:
            break
        for resource in replaced:
            taken_names = {*first.graph.resources, *renames.values()}
            renames[resource.address] = new_address(
                resource, taken_names, partial(_is_taken, backend)
            )
        texts = renamed_texts(first.graph, renames, context.project.every_overlay())
        again = Report(report.ignore, report.select, strict=report.strict)
        planned = plan_once(again, renames, Files.with_texts(texts))
        error = find_leftover(planned.graph, renames)
        if error is not None:
            raise error
    named = files.places([*paths, *context.project.overlay_folders])
    outside = next((path for path in texts if files.leads_out(path, named)), None)
    if outside is not None:
        message = f"{outside} cannot be written: a link points outside the folder"
        hint = "name the target file, or replace in place"
        raise CannotRename(Diagnostic(NO_SUCCESSOR, message, None, hint))
    for note in _note_untouched(context, paths, renames, texts) if texts else ():
        context.note(clean(f"note: {note}"))
    return replace(
        planned,
        texts={path: NewText(files.read(path, _MOST), text) for path, text in texts.items()},
    )


def _is_taken(backend: Backend, address: Address) -> bool:
    """Whether a name is taken: here, or in the region if it must be unique there."""
    if backend.read([address]):
        return True
    if not (kind_of(address).arm.unique_in_region and isinstance(backend, SupportsNames)):
        return False
    return address in backend.taken({address: backend.location})


def _note_untouched(
    context: PlanContext, paths: Sequence[str], renames: Successors, texts: Mapping[Path, str]
) -> Iterator[str]:
    """Yield notes on other files that the new names affect, or do not."""
    project = context.project
    environments = [name for name in project.environments if name != project.environment]
    if environments:
        listed = ", ".join(environments)
        yield f"other environments use these files and get the new names, too: {listed}"
    project_files = [project.document.source.name] if project.document else []
    names = [path for path in (*paths, *project_files) if path != STDIN]
    renamed_files = Files.with_texts(texts)
    for file in source.discover(names, Report(), own=True):
        try:
            text = renamed_files.read(Path(file.path), _MOST).decode(errors="replace")
        except OSError:
            continue  # a file in the folder that belongs to no document
        for line, old in mentions(text, renames):
            yield f"{file.path}:{line} still mentions {old}, and is unchanged"


def write_texts(texts: Mapping[Path, NewText], note: Callable[[str], object]) -> None:
    """Write all of the files, or none.

    Raises:
        WriteError: one cannot be written, or has changed since it was planned.
    """
    try:
        for path, text in texts.items():
            if files.read(path, _MOST) != text.before:
                message = f"{path} has changed since it was read: nothing was written; run again"
                raise WriteError(message)
        contents = {path: encode(text.after, text.before) for path, text in texts.items()}
        files.write_all(contents)
    except OSError as error:
        why = error.strerror or error
        raise WriteError(f"cannot write {error.filename}: {why}; nothing was changed") from None
    for path in texts:
        note(f"wrote {path}")
