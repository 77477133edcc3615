"""The files that a job leaves: named outputs, `outputs` and logs.

"All the files that the job has produced up to that point in the `outputs` and `logs` folders will
be saved"; "all AzureML-internal log files that the job produced in a previous run will be
overwritten" (hi-ml, Using Cheap Low Priority VMs).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path, PurePosixPath

from mlctl.simulator.control_plane import local_paths
from mlctl.simulator.control_plane.command_log import resource_name
from mlctl.simulator.control_plane.jobs import mlflow_store, records
from mlctl.simulator.control_plane.jobs.mlflow_store import MetricValue
from mlctl.simulator.control_plane.jobs.records import DEFAULT_FILE, JobRecord, JobRow
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle
from mlctl.simulator.engine.jobs import JobStatus
from mlctl.simulator.engine.views import MiniBatchCounts, TrainingProgress
from mlctl.workload import CHECKPOINT

ARTIFACTS, OUTPUTS = "artifacts", "named-outputs"
SCORES = "score"  # the output of a job of an endpoint
_ROWS, _FILES, _LOGS = "rows.jsonl", "files", "logs/user/stdout/10.0.0.4"  # as the service's driver
_OUTPUT, _SIMULATED = "output.txt", "simulated\n"  # the file of an output
File = tuple[PurePosixPath, str]


def files_of(job: JobRecord) -> Iterator[File]:
    """Return every file, under `artifacts/` or `named-outputs/NAME/`, with its text."""
    view, results = job.view, job.row.note.get("results")
    if results and view.mini_batches is None:
        yield from _run_files(job, Path(str(results)))
    elif view.members is not None:
        yield from _pipeline_files(job, view.members)
    elif view.mini_batches is not None:
        lines = (f"mini-batches {key}: {count}\n" for key, count in _overview(view.mini_batches))
        yield PurePosixPath(ARTIFACTS, "logs", "job_progress_overview.txt"), "".join(lines)
        completed = view.mini_batches.completed
        if results:
            ended = view.status is JobStatus.COMPLETED  # those that failed have no rows
            upto = view.mini_batches.total if ended else completed
            yield from _read_results(Path(str(results)), upto, _file_name(job))
            return
        rows = "".join(f"mini-batch {number},simulated\n" for number in range(completed))
        for output in job.row.note.get("outputs") or {SCORES: None}:
            yield PurePosixPath(OUTPUTS, _base_name(output), _file_name(job)), rows
    elif view.training is not None:
        yield from _training_files(job, view.training)


def write_results(folder: Path, rows: Sequence[Sequence[str]], appends: bool) -> None:  # noqa: FBT001
    """Write the rows of all mini-batches of a job to the file to which its deployment appends.

    Raises:
        OSError: they cannot be written.
    """
    if appends:
        lines = (json.dumps(list(mini_batch)) + "\n" for mini_batch in rows)
        (folder / _ROWS).write_text("".join(lines))


def _read_results(folder: Path, completed: int, name: str) -> Iterator[File]:
    """Read what code predicted in so many mini-batches, what it wrote, and what it printed.

    Bytes that are no text are surrogates, which `surrogateescape` makes bytes again.
    """
    place = PurePosixPath(OUTPUTS, SCORES)
    if (folder / _ROWS).is_file():
        lines = (folder / _ROWS).read_text().splitlines()[:completed]
        rows = (row for line in lines for row in json.loads(line))
        yield place / name, "".join(f"{row}\n" for row in rows)
    if completed:
        for path in sorted((folder / _FILES).rglob("*")):
            if path.is_file():
                yield place / path.relative_to(folder / _FILES).as_posix(), _text(path)
    for path in sorted(folder.glob("process*.txt")):
        yield PurePosixPath(ARTIFACTS, _LOGS, f"{path.stem}.stdout.txt"), _text(path)


def _run_files(job: JobRecord, folder: Path) -> Iterator[File]:
    """Return what the code of a job or step printed, if it began, and what it left at its end.

    `./outputs` and `./logs` are kept of a job that failed, too; its named outputs are not.
    """
    view = job.view
    if view.members is not None:
        yield from _executionlogs(view.members)
    elif view.started is not None and (folder / "log.txt").is_file():
        place = PurePosixPath(ARTIFACTS, "user_logs")
        for log in sorted(folder.glob("log*.txt")):  # those of further processes have their rank
            yield place / f"std_{log.name}", _text(log)
    if view.ended is None:
        return
    roots = {ARTIFACTS: folder / ARTIFACTS}
    if view.status is JobStatus.COMPLETED:
        roots[OUTPUTS] = folder / "outputs"
    for name, root in roots.items():
        for path in sorted(_below(root)):
            yield PurePosixPath(name, path.relative_to(root).as_posix()), _text(path)


def logged_metrics(job: JobRecord, now: float) -> list[tuple[float, MetricValue]]:
    """Return what a job's code logged by MLflow until `now`, by seconds since submission.

    Runs that it has begun within its own have metrics of their own.
    """
    folder, view = job.row.note.get("results"), job.view
    if not folder or view.started is None:
        return []
    waited = view.started - view.submitted
    logged_values = (
        (round(waited + max(0, metric.at - run.began) / 1000, 6), metric)
        for run in mlflow_store.runs(Path(str(folder)))
        if run.parent is None
        for metric in run.metrics
    )
    limit = inf if view.ended is not None else now - view.submitted
    return [(at, metric) for at, metric in logged_values if at <= limit]


def _below(folder: Path) -> Iterator[Path]:
    """Return the files in a folder, including those behind links: outputs of jobs are links."""
    for at, _, names in os.walk(folder, followlinks=True):
        yield from (Path(at, name) for name in names if Path(at, name).is_file())


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "surrogateescape")


def _file_name(job: JobRecord) -> str:
    """Return the file's name from the invocation, else from the deployment."""
    by_deployment = job.row.note.get("work", {}).get("output_file_name", DEFAULT_FILE)
    name = job.row.note.get("outputFileName") or by_deployment
    return PurePosixPath(str(name)).name or DEFAULT_FILE


def _pipeline_files(job: JobRecord, statuses: Mapping[str, JobStatus]) -> Iterator[File]:
    """Return the states of a pipeline's steps, and its outputs once it has completed."""
    yield from _executionlogs(statuses)
    if job.view.status is JobStatus.COMPLETED:
        for name in job.row.note.get("outputs") or {}:
            yield PurePosixPath(OUTPUTS, _base_name(name), "output.txt"), "simulated\n"


def _executionlogs(statuses: Mapping[str, JobStatus]) -> Iterator[File]:
    lines = (f"{resource_name(name)}: {status.value}\n" for name, status in statuses.items())
    yield PurePosixPath(ARTIFACTS, "logs", "azureml", "executionlogs.txt"), "".join(lines)


def _base_name(name: object) -> str:
    return PurePosixPath(str(name)).name


def _overview(counts: MiniBatchCounts) -> Iterator[tuple[str, int]]:
    yield "in all", counts.total
    yield "completed", counts.completed
    yield "failed", counts.failed
    yield "attempted", counts.attempts


def files_at(workspace: WorkspaceHandle, uri: str) -> list[File]:
    """Return the files that the URI of an output or artifact of a job names, by path below it.

    None for other URIs. A simulated job logs no model: a file stands for it, as for an output.
    """
    match local_paths.key(uri).split("/"):
        case ["jobs", name, output, *path]:
            top = (ARTIFACTS,) if output == ARTIFACTS else (OUTPUTS, output)
            above = PurePosixPath(*top, *path)
            files = files_of(records.get_job(workspace, name))
            below = [
                (path.relative_to(above), text) for path, text in files if above in path.parents
            ]
            return below or [(PurePosixPath(_OUTPUT), _SIMULATED)]
        case _:
            return []


def _training_files(job: JobRecord, now: TrainingProgress) -> Iterator[File]:
    workspace = PurePosixPath(ARTIFACTS, "outputs", "checkpoints")
    for path, text in _checkpoint_files(job, now):
        yield workspace / path, text
    log = (f"{at:.0f} s: step {step}\n" for at, step in _last_run(now))
    yield PurePosixPath(ARTIFACTS, "user_logs", "std_log.txt"), "".join(log)
    checkpoint = (job.row.note.get("properties") or {}).get(CHECKPOINT)
    for name in job.row.note.get("outputs") or {}:
        folder = PurePosixPath(OUTPUTS, _base_name(name))
        if name != checkpoint:
            yield folder / _OUTPUT, _SIMULATED
            continue
        for path, text in _checkpoint_files(job, now):
            yield folder / path, text


def _checkpoint_files(job: JobRecord, now: TrainingProgress) -> Iterator[tuple[str, str]]:
    for step in _checkpoints(job.row, now):
        yield f"step-{step:06}.ckpt", f"all steps up to {step}\n"
    for step in now.partial_checkpoints:
        yield f"step-{step:06}.ckpt.partial", "cut off by a preemption\n"


def _checkpoints(row: JobRow, now: TrainingProgress) -> Iterator[int]:
    every = row.note.get("checkpointEvery") or 0
    first = (row.note.get("checkpointFirst") or 0) // every * every if every else 0
    return iter(range(first + every, now.saved + 1, every) if every else ())


def _last_run(now: TrainingProgress) -> list[tuple[float, int]]:
    """Return the metrics of the last run, which begins where the step falls back."""
    run: list[tuple[float, int]] = []
    for at, step in now.metrics:
        if run and step <= run[-1][1]:
            run.clear()
        run.append((at, step))
    return run
