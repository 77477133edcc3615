"""The commands of `mlctl job`; `update` and `validate` among them."""

from __future__ import annotations

import copy

from mlctl.cli.az import job_run, job_verify, jobs, stream, submit
from mlctl.cli.az.args import GenericArgs, PolicyArgs
from mlctl.cli.az.documents import generic_updates
from mlctl.cli.az.jobs import Name, Web, opened, print_job, show_page
from mlctl.cli.az.update import update as edit
from mlctl.cli.shell import Group, Session, UsageError
from mlctl.cli.shell.command import Commands
from mlctl.cli.shell.output import OutputArgs
from mlctl.pointer import Data
from mlctl.schema import Schema

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
    with opened(session) as jobs:
        job = jobs.show(name)
        properties = job.body["properties"]
        before: dict[str, Data] = {
            key: properties[arm] for key, arm in _ARM_NAMES.items() if properties.get(arm)
        }
        after = copy.deepcopy(before)
        edit(after, generic_updates(edits), _SCHEMA, force_string=edits.force_string)
        _refuse_other_types(after)
        if after.pop(_EXPERIMENT, None) is not None:
            session.note(f"{_EXPERIMENT}: a job stays in the experiment it was submitted to")
        changes: dict[str, Data] = {
            arm: after.get(key, {} if key == "tags" else "")
            for key, arm in _ARM_NAMES.items()
            if after.get(key) != before.get(key)
        }
        job = jobs.change(name, changes) if changes else job
        print_job(session, job, printing)
        if web:
            show_page(session, job)


def _refuse_other_types(fields: dict[str, Data]) -> None:
    for key, value in fields.items():
        texts = value.values() if isinstance(value, dict) and key == "tags" else (value,)
        if (key == "tags") is not isinstance(value, dict) or not all(
            isinstance(text, str) for text in texts
        ):
            kind = "a mapping of names to texts" if key == "tags" else "text"
            raise UsageError(f"`{key}` takes {kind}: --set tags.team=ds display_name=Nightly")


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
    "stream": stream.stream,
    "verify": job_verify.verify,
}
COMMANDS = {"job": Group("Manage jobs.", _JOB)}
