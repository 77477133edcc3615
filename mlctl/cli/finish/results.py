"""Collect the results of all runs of a job, and verify them against its inputs."""

from __future__ import annotations

import tempfile
from pathlib import Path

from mlctl.backends.ports.backend import Backend
from mlctl.cli.az.job_verify import write_outputs
from mlctl.cli.az.jobs import jobs_of
from mlctl.cli.shell import Exit, InvalidValue, Session
from mlctl.finishing.merge import merge
from mlctl.finishing.order import Order
from mlctl.finishing.progress import Progress
from mlctl.rehearsal.inputs import Inputs
from mlctl.rehearsal.scoring.verify import verify
from mlctl.render.terminal.terminal import clean
from mlctl.schema.text import counted


def results_folder(order: Order, stated: Path | None, *, is_new: bool = False) -> Path:
    """Return the folder for a job's results; a new job needs an empty or missing one."""
    folder = stated or Path(f"{order.name}-results")
    if folder.exists() and not (folder.is_dir() and not (is_new and any(folder.iterdir()))):
        raise InvalidValue(f"`{folder}` exists and is not an empty folder", flag="--results")
    return folder


def collect_results(
    session: Session, backend: Backend, progress: Progress, folder: Path
) -> Exit | None:
    """Merge the results into a folder, and verify them; return an exit code if that fails."""
    if folder.is_dir() and any(folder.iterdir()):
        session.note(f"the results are already in {clean(str(folder))}")
        return None
    count = _merge(backend, progress, folder)
    session.note(f"the results of {counted(count, 'shard')} are in {clean(str(folder))}")
    return _verify(session, progress.order, folder) if progress.order.files else None


def _merge(backend: Backend, progress: Progress, folder: Path) -> int:
    """Merge the results of all shards; return their number."""
    order, jobs = progress.order, jobs_of(backend)
    runs = sorted((run for run in progress.runs if run.completed), key=lambda run: run.shard)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".mlctl-finish-", dir=folder.parent) as scratch:
        parts = [Path(scratch, run.name) for run in runs]
        for run, part in zip(runs, parts, strict=True):
            part.mkdir()
            write_outputs(jobs, run.name, part)
        batches = [-(-size // order.mini_batch_size) for size in order.sizes]
        whole = Path(scratch, "whole")
        whole.mkdir()
        merge(parts, batches, order.output_file, whole)
        whole.rename(folder)  # all of it or nothing
    return len(runs)


def _verify(session: Session, order: Order, folder: Path) -> Exit | None:
    findings = list(verify(folder, Inputs(Path(), order.files), size=order.mini_batch_size))
    for finding in findings:
        session.say(clean(f"ERROR: {finding.message}"))
    if not findings:
        session.note(f"each of {len(order.files)} inputs has its rows, and no row occurs twice")
    return Exit.ERROR if findings else None
