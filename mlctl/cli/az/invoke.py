"""`mlctl batch-endpoint invoke`: the batch job of a file and flags, and the jobs of endpoints."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from mlctl import pointer, source
from mlctl.backends.ports.jobs import Job, Jobs
from mlctl.cli.az import jobs
from mlctl.cli.az.args import PolicyArgs, SetFlag
from mlctl.cli.az.field_values import fits
from mlctl.cli.az.update import GenericUpdate, UpdateFlag, update
from mlctl.cli.local import flags as workload_flags
from mlctl.cli.local.flags import BatchFlags, WorkloadName
from mlctl.cli.shell import Session, TypedFlag, UsageError, flag
from mlctl.cli.shell.code import CodeArgs, backend_is_local, python_of
from mlctl.cli.shell.command import Commands, flag_values
from mlctl.cli.shell.output import OutputArgs
from mlctl.config.variables import Variables
from mlctl.dataclasses import dataclass, replace
from mlctl.diagnostics import Report
from mlctl.durations import format_iso
from mlctl.files import expanded, is_file, is_folder
from mlctl.files import read as read_file
from mlctl.kinds.resource import is_local, local_path
from mlctl.pointer import Data
from mlctl.schema import Schema
from mlctl.schema.text import nearest
from mlctl.service_errors import Permanent
from mlctl.workload import DEFAULT_NAME

EndpointName = Annotated[str, flag("--name", "-n", metavar="NAME")]


def invoke(
    session: Session,
    name: EndpointName,
    *,
    deployment_name: str | None = flag("-d", metavar="NAME"),
    job: BatchJobArgs,
    _policy: PolicyArgs,
    workload: WorkloadName = DEFAULT_NAME,
    work: BatchFlags,
    running: CodeArgs,
    printing: OutputArgs,
) -> None:
    """Invoke a batch endpoint: submit a job that scores the input files."""
    workload_ = workload_flags.workload_of(work)
    data = document(job, session.loader(Report()).variables)
    counted = count_files(data)
    with jobs.open_jobs(session) as runs:
        workload_flags.check(runs, workload, work)
        python = python_of(session, running) if backend_is_local(session, running) else None
        if workload_.files is None and python is None:
            if runs.simulated and counted is None:
                session.note(
                    "the files of the input cannot be counted from here: there are as many as the"
                    " workload says; --files N says otherwise"
                )
            workload_ = replace(workload_, files=counted)
        request = (name, deployment_name, body(data), workload_, workload)
        job_ = _run(session, runs, python, request) if python else runs.invoke(*request)
        notice = job_.body["properties"].get("run", {}).get("notice")
        if notice:
            session.note(notice)
        jobs.print_job(session, job_, printing)


def _run(session: Session, runs: Jobs, python: str, request: tuple[Any, ...]) -> Job:
    """Run the code of a deployment, and submit the job with its predictions."""
    from mlctl.serving import batch
    from mlctl.simulator.control_plane.jobs.batch_jobs import Invocation

    handle, code = jobs.code_of(session, runs, python)
    record, note = batch.invoke(handle, Invocation(*request), code)
    if note:
        session.note(note)
    return Job(record.row.name, record.body(handle.scope))


def of_endpoint(
    session: Session, name: EndpointName, _policy: PolicyArgs, printing: OutputArgs
) -> None:
    """List the jobs of a batch endpoint."""
    with jobs.open_jobs(session) as runs:
        jobs.print_job(session, runs.list(name), printing)


def of_deployment(
    session: Session,
    endpoint_name: Annotated[str, flag("--endpoint-name", "-e", metavar="NAME")],
    name: Annotated[str, flag("--name", "-n", metavar="NAME")],
    _policy: PolicyArgs,
    printing: OutputArgs,
) -> None:
    """List the jobs of a batch deployment."""
    with jobs.open_jobs(session) as runs:
        jobs.print_job(session, runs.list(endpoint_name, name), printing)


# Beyond the commands that all kinds have, by kind.
COMMANDS: Mapping[str, Commands] = {
    "batch-endpoint": {"invoke": invoke, "list-jobs": of_endpoint},
    "batch-deployment": {"list-jobs": of_deployment},
}

InputType: TypeAlias = Literal["uri_folder", "uri_file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchJobArgs:
    """What the flags of `invoke` say of the batch job."""

    input: str | None = flag(metavar="URI")
    input_type: InputType | None = flag()
    inputs: list[TypedFlag] | None = flag(metavar="NAME=URI ...")
    outputs: list[TypedFlag] | None = flag(metavar="NAME=URI ...")
    output_path: str | None = flag(metavar="URI")
    mini_batch_size: int | None = flag("-m", metavar="N")
    instance_count: int | None = flag("-c", metavar="N")
    job_name: str | None = flag(metavar="NAME")
    experiment_name: str | None = flag(metavar="NAME")
    tags: list[TypedFlag] | None = flag(metavar="KEY=VALUE ...")
    file: Path | None = flag("-f", metavar="FILE")
    set_: SetFlag = None


# What a file and `--set` can set, the type of its value, and ARM's name for it.
_FIELDS: Mapping[str, tuple[str, str]] = {
    "name": ("string", "/name"),
    "description": ("string", "/description"),
    "experiment_name": ("string", "/properties/experimentName"),
    "mini_batch_size": ("integer", "/miniBatchSize"),
    "instance_count": ("integer", "/compute/instanceCount"),
    "max_concurrency_per_instance": ("integer", "/maxConcurrencyPerInstance"),
    "error_threshold": ("integer", "/errorThreshold"),
    "retry_settings.max_retries": ("integer", "/retrySettings/maxRetries"),
    "retry_settings.timeout": ("integer", "/retrySettings/timeout"),
    "output_file_name": ("string", "/outputFileName"),
    "logging_level": ("string", "/loggingLevel"),
    "tags": ("object", "/tags"),
    "inputs": ("object", ""),
    "outputs": ("object", ""),
}
_TYPES = {"uri_folder": "UriFolder", "uri_file": "UriFile"}


def document(args: BatchJobArgs, variables: Variables = Variables()) -> dict[str, Data]:
    """Return the batch job under YAML's names: the file, the flags over it, `--set` on top.

    `variables` complete the file.

    Raises:
        UpdateError: `--set` leads nowhere.
    """
    data = _read(args.file, variables) if args.file else {}
    flags = {
        "name": args.job_name,
        "experiment_name": args.experiment_name,
        "mini_batch_size": args.mini_batch_size,
        "instance_count": args.instance_count,
    }
    data |= {name: value for name, value in flags.items() if value is not None}
    if args.tags:
        data["tags"] = data.get("tags", {}) | dict(map(_pair, flag_values(args.tags)))
    update(data, [GenericUpdate(UpdateFlag.SET, tuple(flag_values(args.set_ or ())))], _schema())
    tags = data.get("tags", {})
    if not isinstance(tags, dict):
        raise UsageError(f"`{tags}` are not tags: write tags.KEY=VALUE.")
    data["tags"] = {
        key: value if isinstance(value, str) else json.dumps(value) for key, value in tags.items()
    }
    inputs = data.setdefault("inputs", {})
    if args.input is not None:
        uri = _uri(args.input, args.input_type)
        inputs[_TYPES[uri["type"]]] = uri
    elif args.input_type is not None:
        raise UsageError("--input-type is the type of --input: give --input too.")
    inputs |= dict(_parse_named(args.inputs))
    data["outputs"] = data.get("outputs", {}) | dict(_parse_named(args.outputs))
    if args.output_path is not None:
        data["outputs"]["score"] = {"type": "uri_folder", "path": args.output_path}
    return data


def body(data: Mapping[str, Data]) -> dict[str, Data]:
    """Return ARM's properties of the batch job."""
    out: dict[str, Data] = {}
    for name, (_, wire) in _FIELDS.items():
        value = pointer.get(data, tuple(name.split(".")))
        if value is not None and wire:
            pointer.put(
                out, pointer.parse(wire), format_iso(value) if wire.endswith("timeout") else value
            )
    out["inputData"] = {name: _wire(item, "jobInputType") for name, item in data["inputs"].items()}
    out["outputData"] = {
        name: _wire(item, "jobOutputType") for name, item in data["outputs"].items()
    }
    return out


def _schema() -> Schema:
    fields: dict[str, Any] = {}
    for name, (kind, _) in _FIELDS.items():
        outer, _, inner = name.partition(".")
        if inner:
            section = {"type": "object", "additionalProperties": False, "properties": {}}
            fields.setdefault(outer, section)["properties"][inner] = {"type": kind}
        else:
            fields[outer] = {"type": kind}
    return {"type": "object", "additionalProperties": False, "properties": fields}


def _read(file: Path, variables: Variables) -> dict[str, Data]:
    """Read the file of a batch job."""
    report = Report()
    try:
        raw = read_file(expanded(file), source.MAX_BYTES, pipes=True)
    except OSError as error:
        raise Permanent("CannotRead", f"cannot read `{file}`: {error.strerror}") from None
    documents = [
        variables.fill(document_, report) for document_ in source.load(str(file), raw, report)
    ]
    for diagnostic in report:
        raise Permanent("InvalidFile", f"`{file}`: {diagnostic.message}")
    data = dict(documents[0].data) if documents else {}
    data.pop("$schema", None)
    _check(data, _schema(), str(file))
    data["inputs"] = {name: _parse_item(item) for name, item in (data.get("inputs") or {}).items()}
    data["outputs"] = {
        name: _parse_item(item) for name, item in (data.get("outputs") or {}).items()
    }
    return data


def _check(data: Mapping[str, Data], schema_: Schema, place: str) -> None:
    for name, value in data.items():
        field = schema_["properties"].get(name)
        if field is None:
            near = nearest(str(name), schema_["properties"])
            hint = f": did you mean `{near}`?" if near else ""
            raise Permanent(
                "InvalidFile", f"`{place}` has `{name}`, which is not a field of batch jobs{hint}"
            )
        if not fits(value, field):
            text = f"`{place}` has `{name}: {value}`, which must be of type {field['type']}"
            raise Permanent("InvalidFile", text)
        if "properties" in field:
            _check(value, field, place)


def _parse_named(typed: Sequence[TypedFlag] | None) -> Iterator[tuple[str, dict[str, Data]]]:
    """Parse `NAME=URI` pairs, or one object in JSON or YAML's flow style."""
    for text in flag_values(typed or ()):
        if text[:1] == "{":
            items = source.plain(text)
            if not isinstance(items, dict):
                raise UsageError(f"`{text}` is not an object of named inputs or outputs.")
            yield from ((str(name), _parse_item(item)) for name, item in items.items())
            continue
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise UsageError(f"`{text}`: write NAME=URI, or an object in JSON.")
        yield name, _uri(path, None)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise UsageError(f"`{text}`: write KEY=VALUE.")
    return name, value


def _parse_item(text: Data) -> dict[str, Data]:
    """Read an input or output of a file: an object, a URI, or a value."""
    if isinstance(text, dict):
        return {"type": "uri_folder", **text} if "path" in text else {**text}
    if isinstance(text, str):
        return _uri(text, None)
    return {"type": "literal", "value": text}


def _uri(path: str, of_type: InputType | None) -> dict[str, Data]:
    if of_type is not None:
        return {"type": of_type, "path": path}
    is_one = is_local(path) and is_file(expanded(local_path(path)))
    return {"type": "uri_file" if is_one else "uri_folder", "path": path}


def _wire(item: Mapping[str, Data], key: str) -> dict[str, Data]:
    if "path" in item:
        kind = str(item.get("type", "uri_folder"))
        return {key: _TYPES.get(kind, kind), "uri": item["path"]}
    return {key: "Literal", "value": str(item.get("value", item.get("default")))}


def count_files(data: Mapping[str, Data]) -> int | None:
    """Count the files of the inputs; None if some are remote."""
    counts = [_count(item) for item in data["inputs"].values() if "path" in item]
    counted_files = [count for count in counts if count is not None]
    return sum(counted_files) if counted_files and len(counted_files) == len(counts) else None


def _count(item: Mapping[str, Data]) -> int | None:
    text = str(item["path"])
    if not is_local(text):
        return 1 if item.get("type") == "uri_file" else None
    path = expanded(local_path(text))
    if is_file(path):
        return 1
    if not is_folder(path):
        raise Permanent("InputNotFound", f"there is no folder or file `{text}`")
    count = sum(len(names) for _, _, names in os.walk(path))
    if not count:
        raise Permanent(
            "EmptyInput", f"the folder `{text}` has no files: there is nothing to score"
        )
    return count
