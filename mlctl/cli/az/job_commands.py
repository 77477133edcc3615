"""The commands of `mlctl job`."""

from __future__ import annotations

from mlctl.cli.az import job_run, job_update, job_verify, jobs, stream, submit
from mlctl.cli.shell import Group
from mlctl.cli.shell.command import Commands

_JOB: Commands = {
    "show": jobs.show,
    "list": jobs.list_,
    "wait": jobs.wait,
    "download": jobs.download,
    "metrics": jobs.metrics,
    "cancel": jobs.cancel,
    "archive": jobs.archive,
    "restore": jobs.restore,
    "create": submit.create,
    "update": job_update.update,
    "validate": submit.validate,
    "run": job_run.run,
    "stream": stream.stream,
    "verify": job_verify.verify,
}
COMMANDS = {"job": Group("Manage jobs.", _JOB)}
