"""Files of a folder that are no resources: one note a reason, none for what another file names."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from mlctl import pointer
from mlctl.source import Document

_SHOWN = 3  # names of files in a note
_LONGEST = 1000  # characters of a value that may be a path


class Why(Enum):
    """Why a file is left out."""

    UNKNOWN_KIND = "of kinds that mlctl does not know"
    NO_KIND = "without a `$schema`, whose content fits no kind"
    NO_MAPPING = "that hold no mapping"
    JOB = "that are jobs; run each with `mlctl job create -f FILE`"


@dataclass(slots=True)
class LeftOut:
    """The files that were left out, with the kind that each names."""

    files: dict[Why, dict[str, str]] = field(default_factory=dict)

    def add(self, path: str, why: Why, kind: str = "") -> None:
        """Leave out a file."""
        self.files.setdefault(why, {})[path] = kind

    @property
    def paths(self) -> set[str]:
        """The files that are no documents of mlctl; jobs are."""
        return {path for why, found in self.files.items() if why is not Why.JOB for path in found}

    def notes(self, documents: Iterable[Document]) -> Iterator[str]:
        """A note for each reason; `documents` are all that were read.

        A conda file, a component or what stands in a folder of code belongs to the document that
        names it. A file that says its kind belongs to it only by its own path: `code: ../..` is
        no word about a schedule that lies there.
        """
        named_files = set(named_paths(documents)) if self.files else set[str]()
        for why, found in self.files.items():
            reported = {
                path: kind
                for path, kind in found.items()
                if why is Why.JOB or not _belongs(path, named_files, whole=why is Why.UNKNOWN_KIND)
            }
            if reported:
                yield (
                    _one(why, *next(iter(reported.items())))
                    if len(reported) == 1
                    else _many(why, reported)
                )


def named_paths(documents: Iterable[Document]) -> Iterator[str]:
    """The paths that values of documents may mean."""
    for document in documents:
        folder = os.path.dirname(document.source.name)  # noqa: PTH120 - names may be `<stdin>`
        for _, text in pointer.texts(document.data):
            if text and len(text) <= _LONGEST and "\n" not in text and "://" not in text:
                path = os.path.join(folder, text.removeprefix("file:"))  # noqa: PTH118
                yield os.path.normpath(path)


def _belongs(path: str, named_files: set[str], *, whole: bool) -> bool:
    """Whether a file is named, or, unless by its `whole` path alone, a folder that it is in."""
    path = os.path.normpath(path)
    while path not in named_files:
        if whole:
            return False
        above = os.path.dirname(path)  # noqa: PTH120
        if above in (path, ""):
            return False
        path = above
    return True


def _one(why: Why, path: str, kind: str) -> str:
    match why:
        case Why.UNKNOWN_KIND:
            return f"{path}: left out, `{kind}` is no kind that mlctl knows"
        case Why.NO_KIND:
            return f"{path}: left out, it has no `$schema`, and its content fits no kind"
        case Why.NO_MAPPING:
            return f"{path}: left out, it holds no mapping"
        case Why.JOB:
            return f"{path}: left out, a job; run `mlctl job create -f {path}`"


def _many(why: Why, kinds_by_path: dict[str, str]) -> str:
    if why is Why.UNKNOWN_KIND:
        spelt: dict[str, str] = {}  # `Schedule` and `schedule` are one
        counted = Counter(
            spelt.setdefault(kind.casefold(), kind) for kind in kinds_by_path.values()
        ).most_common()
        listed = ", ".join(f"`{kind}` ({count})" for kind, count in counted)
    else:
        listed = ", ".join(list(kinds_by_path)[:_SHOWN])
        if len(kinds_by_path) > _SHOWN:
            listed += f" and {len(kinds_by_path) - _SHOWN} more"
    return f"{len(kinds_by_path)} files left out {why.value}: {listed}"
