"""`mlctl job verify`: what a job left behind, held against its inputs."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Annotated

from mlctl import files, pointer
from mlctl.backends.ports.jobs import Jobs, SupportsDownloads, SupportsOutputs
from mlctl.cli.az.jobs import open_jobs, write
from mlctl.cli.shell import Exit, Session, argument, flag
from mlctl.diagnostics import Report
from mlctl.service_errors import Permanent

Left = Annotated[str, argument(metavar="JOB|FOLDER")]
Input = Annotated[Path, flag("--input", metavar="DIR|FILE")]
Key = Annotated[int | None, flag("--key", metavar="N", min=1)]


def verify(session: Session, left: Left, input: Input, key: Key = None) -> Exit:  # noqa: A002
    """Check that a batch job scored each input exactly once."""
    from mlctl.rehearsal.inputs import Inputs, RehearsalError
    from mlctl.rehearsal.scoring.verify import verify as check
    from mlctl.render.rehearsal import report as render

    report = Report()
    try:
        inputs = Inputs.find(input)
        path = Path(left)
        if files.is_folder(path) or files.is_file(path):
            findings = tuple(check(path, inputs, key))
        else:
            with tempfile.TemporaryDirectory(prefix="mlctl-verify-") as folder:
                size = _download(session, left, Path(folder))
                findings = tuple(check(Path(folder), inputs, key, size, title=left))
    except RehearsalError as error:
        raise Permanent("NothingToVerify", str(error)) from None
    report.extend(render.findings(findings, Path(), lambda _: ""))
    _print(session, report, len(inputs.names))
    return Exit.ERROR if report.failed else Exit.OK


def _print(session: Session, report: Report, count: int) -> None:
    from mlctl.render.findings import diagnostics

    text = diagnostics.report(report, color=session.color(sys.stdout), width=session.width)
    inputs = "The one input" if count == 1 else f"Every one of {count} inputs"
    session.out(text or f"{inputs} has its rows, and no row is repeated.")


def _download(session: Session, name: str, folder: Path) -> int | None:
    """Download the files of a job; return the size of its mini-batches, if known."""
    with open_jobs(session) as jobs:
        job = jobs.show(name)
        if not job.ended:
            why = f"the job `{name}` is {job.status}: its outputs exist when it has ended"
            raise Permanent("NothingToVerify", why)
        write_outputs(jobs, name, folder)
    size = pointer.get(job.body, ("properties", "run", "work", "mini_batch_size"))
    return size if isinstance(size, int) else None


def write_outputs(jobs: Jobs, name: str, folder: Path) -> None:
    """Write the scores that a job has left to a folder."""
    if isinstance(jobs, SupportsDownloads):
        jobs.download(name, folder, "score", every=False)
        return
    outputs = jobs.outputs(name) if isinstance(jobs, SupportsOutputs) else ()
    for path, text in outputs:
        if path.parts[0] == "named-outputs":
            write(folder / path, [text])
