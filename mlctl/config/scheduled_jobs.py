"""Insert the job of a schedule, usually in its own file, into the schedule's document.

Origin: azure-ai-ml 1.35.2, `BaseCreateJobSchema`: what a schedule sets beside `job` overrides the
job's file, mapping by mapping.
"""

from __future__ import annotations

import copy
import os
from pathlib import Path

from mlctl import pointer
from mlctl.config.graph import ReadDocument
from mlctl.dataclasses import dataclass
from mlctl.kinds.records.job import KIND as JOB
from mlctl.kinds.resource import Resource, build, is_local, local_path
from mlctl.pointer import Data, Pointer
from mlctl.source import Document
from mlctl.source.document import DocumentView
from mlctl.source.overlay import DocumentPart, OverlaidDocument


@dataclass(frozen=True, eq=False)
class Within(DocumentView):
    """A document as part of another one, at `root`."""

    root: Pointer = ()

    def within_whole(self, at: Pointer) -> Pointer:
        """Return where a value of the other one is in the document itself."""
        return at[len(self.root) :]


def with_job(document: Document, at: Pointer, read: ReadDocument) -> Document:
    """Return the document with its job at `at`, wherever the job is.

    The path of a file that cannot be read stays, as `job`; the rules of paths report it.
    """
    value = pointer.get(document.data, at)
    name = value.get("job") if isinstance(value, dict) else value
    if not isinstance(name, str):
        return document
    changes = {key: item for key, item in value.items() if key != "job"} if value != name else {}
    file = read(document.folder / local_path(name)) if is_local(name) else None
    if file is None:
        return _insert_job(document, at, {**changes, "job": name})
    job = _rebase_paths(file, os.path.relpath(file.folder, document.folder))
    nested = pointer.nest({at: job})
    below = Within(file.source, nested, file.index, file.line, file.begin, file.end, file, at)
    return _insert_job(document, at, _merge(job, changes), below)


def job_of(schedule: Resource) -> Resource | None:
    """Return the job of a schedule as its own document, so that rules of jobs apply."""
    at = schedule.kind.content.job
    job = pointer.get(schedule.document.data, at)
    if not isinstance(job, dict) or "job" in job:
        return None  # a job that has run has been checked
    return build(DocumentPart.of(schedule.document, at), JOB)


def _insert_job(document: Document, at: Pointer, job: Data, *below: Document) -> Document:
    data = copy.deepcopy(document.data)
    pointer.put(data, at, job)
    return OverlaidDocument.over(document, data, document, *below)


def _merge(base: Data, changes: Data) -> Data:
    if not (isinstance(base, dict) and isinstance(changes, dict)):
        return changes
    return base | {key: _merge(base.get(key), value) for key, value in changes.items()}


def _rebase_paths(job: Document, folder: str) -> dict[str, Data]:
    """Return a job with its local paths relative to the schedule's folder."""
    data = copy.deepcopy(job.data)
    resource = build(job, JOB) if folder != os.curdir else None
    if resource is not None:
        fields = [field.at for field in resource.form.fields if field.path]
        for at in (*fields, *(place for place, _ in resource.places("x-mlctl-path"))):
            value = pointer.get(data, at)
            if is_local(value) and not Path(value).is_absolute():
                pointer.put(data, at, os.path.join(folder, local_path(value)))  # noqa: PTH118
    return data
