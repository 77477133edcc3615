"""The commands of `mlctl job`; `update` and `validate` among them."""

from __future__ import annotations

import copy

from mlctl.cli.az import job_run, job_verify, jobs, submit
from mlctl.cli.az.args import GenericArgs, PolicyArgs
from mlctl.cli.az.documents import generic_updates
from mlctl.cli.az.jobs import Name, Web, open_jobs, print_job, show_page
from mlctl.cli.az.update import update as edit
from mlctl.cli.shell import Group, Session, UsageError
from mlctl.cli.shell.command import Commands
from mlctl.cli.shell.output import OutputArgs
from mlctl.pointer import Data
from mlctl.schema import Schema
from mlctl.schema.compiled import compile_schema

_EXPERIMENT = "experiment_name"  # in Microsoft's own example; the service does not change it
_ARM_NAMES = {"display_name": "displayName", "description": "description", "tags": "tags"}
_TEXT: Schema = {"type": "string"}
_SCHEMA: Schema = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        **dict.fromkeys((*_ARM_NAMES, _EXPERIMENT), _TEXT),
        "tags": {"type": "object", "additionalProperties": _TEXT},
    },
}


def update(
    session: Session,
    name: Name,
    edits: GenericArgs,
    printing: OutputArgs,
    _policy: PolicyArgs,
    web: Web = False,
) -> None:
    """Change the display name, the description and the tags of a job; its other fields stay."""
    with open_jobs(session) as jobs:
        job = jobs.show(name)
        properties = job.body["properties"]
        current: dict[str, Data] = {
            key: properties[arm] for key, arm in _ARM_NAMES.items() if properties.get(arm)
        }
        edited = copy.deepcopy(current)
        edit(edited, generic_updates(edits), _SCHEMA, force_string=edits.force_string)
        is_valid = compile_schema(_SCHEMA)
        assert is_valid is not None  # the compiler knows these keywords
        if not is_valid(edited):
            why = "a display name and a description are texts, tags a mapping of names to texts"
            raise UsageError(f"{why}: --set display_name=Nightly tags.team=ds")
        if edited.pop(_EXPERIMENT, None) is not None:
            session.note(f"{_EXPERIMENT}: a job stays in the experiment it was submitted to")
        changes: dict[str, Data] = {
            arm: edited.get(key, {} if key == "tags" else "")
            for key, arm in _ARM_NAMES.items()
            if edited.get(key) != current.get(key)
        }
        job = jobs.change(name, changes) if changes else job
        print_job(session, job, printing)
        if web:
            show_page(session, job)


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
    "update": update,
    "validate": submit.validate,
    "run": job_run.run,
    "stream": jobs.stream,
    "verify": job_verify.verify,
}
COMMANDS = {"job": Group("Manage jobs.", _JOB)}
