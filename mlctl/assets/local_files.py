"""Replaces local paths by content or uploads, and inline assets by resources of their own.

A deployment with a folder of code, an inline environment or a pipeline component in a file needs
assets that no document declares. They become resources here, owned by the deployment, and plan and
apply treat them as any other. Their names follow from their content: the same content is the same
asset.
"""

from __future__ import annotations

import errno
import re
import uuid
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from mlctl import files, pointer, source
from mlctl.assets import hashing, names
from mlctl.assets.private import private_findings
from mlctl.diagnostics import Diagnostic, Report, Rule, Severity
from mlctl.kinds import KINDS
from mlctl.kinds.address import Address, Scope, own_address
from mlctl.kinds.field import Field, Form
from mlctl.kinds.kind import Kind
from mlctl.kinds.records.code import CODE
from mlctl.kinds.records.component import COMPONENT, WHOLE
from mlctl.kinds.resource import Resource
from mlctl.kinds.upload import Upload, UploadTarget
from mlctl.kinds.values import written
from mlctl.pointer import Data, Pointer

UNREADABLE = Rule(
    "MLC401",
    "unreadable-path",
    Severity.ERROR,
    "a local path that a document names cannot be read",
    "Planning compares the content of code folders, models and conda files with what the workspace"
    " has, so it must read them.",
    "Correct the path: it is relative to the file that names it.",
)

JOB_DEFINITION = Rule(
    "MLC410",
    "job-definition-without-component",
    Severity.ERROR,
    "a pipeline deployment with a job written inline, and no component",
    "A pipeline deployment runs a component. The service makes one of a job that has run, by its"
    " name; of a job that is only written down nobody makes one, `az ml` no more than mlctl.",
    "Name a job that has run: `job_definition: azureml:JOB`. Or give the pipeline as a component:"
    " `component: ./pipeline.yml`.",
)

_CODE_NAMES = uuid.UUID("6d6c6374-6c00-4000-8000-636f64650000")


def resolve_local_files(
    resources: Iterable[Resource], scope: Scope, report: Report
) -> list[Resource]:
    """The resources without local paths, each after the assets that its paths became.

    Paths that cannot be read are reported (MLC401) and left as they are.
    """
    found: list[Resource] = []
    for resource in resources:
        found.extend(_resolve(resource, scope, report))
    return found


def _resolve(resource: Resource, scope: Scope, report: Report) -> Iterable[Resource]:
    values, uploads = dict(resource.values), list(resource.uploads)
    job = resource.get("job_definition")
    if job is not None and ("component",) not in values:
        if isinstance(job, str):
            made = _component_of_job(resource, job.removeprefix("azureml:"))
            values["component",] = f"azureml:{made.address.name}:{made.address.version}"
            yield made
        else:
            report.add(_no_component(resource))
    for field in resource.form.fields:
        value = values.get(field.at)
        if value is None or not (field.path or (isinstance(value, dict) and field.refers_to)):
            continue
        try:
            asset = _asset(resource, field, value, scope)
            if asset is not None:
                report.extend(private_findings(resource, field, asset.uploads))
                inner = list(_resolve(asset, scope, report))
                asset = names.named(inner[-1], scope)
                values[field.at] = f"azureml:{asset.address.name}:{asset.address.version}"
                yield asset
            elif field.path and isinstance(value, str):
                values[field.at], found = _content(resource, field, value, scope)
                report.extend(private_findings(resource, field, found))
                uploads += found
        except OSError as error:
            report.add(_unreadable(resource, field, error))
    yield replace(resource, values=values, uploads=tuple(uploads))


def _no_component(resource: Resource) -> Diagnostic:
    return Diagnostic(
        JOB_DEFINITION,
        "there is a job that has not run, and no `component`",
        resource.label(("job_definition",), key=True),
        hint="name a job that has run, `azureml:JOB`, or write `component: ./pipeline.yml`",
        address=str(resource.address),
    )


def _component_of_job(resource: Resource, job: str) -> Resource:
    """The component that the service makes of a job: azure-ai-ml 1.35.2 sends this definition.

    The SDK gives each of them version 1, so that no second one could be made; here the version is a
    hash of the job's name.
    """
    spec: Data = {"name": names.NAME, "version": "1", "type": "pipeline", "jobs": {}}
    values: dict[Pointer, Data] = {("spec",): spec, ("source_job",): job}
    address = Address(COMPONENT.name, names.NAME, None, names.sha256(job))
    root = ("job_definition",)
    return Resource(address, COMPONENT, WHOLE, resource.document, values, root, resource.address)


def _unreadable(resource: Resource, field: Field, error: OSError) -> Diagnostic:
    named = f"`{error.filename}`: " if error.filename else ""
    return Diagnostic(
        UNREADABLE,
        f"cannot read {named}{error.strerror or error}",
        resource.label(field.at),
        hint="the path is relative to the file that names it",
        address=str(resource.address),
    )


# `azureml:NAME`, `https://...`; `file:` is local, and one letter and a colon is a drive.
_SCHEME = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+:")


def is_local(value: Data) -> bool:
    """Whether a value is a local path: text that is neither a reference nor a URI nor content."""
    return isinstance(value, str) and bool(value) and "\n" not in value and not _SCHEME.match(value)


def local_path(value: str) -> Path:
    """The path that a local value means: `file:` before it is left out."""
    return Path(value.removeprefix("file:"))


def resolve(resource: Resource, path: str) -> Path:
    """A path of a document, relative to the document's folder."""
    return resource.document.folder / local_path(path)


def digest(upload: Upload) -> str:
    """The hash of an upload's content as it is now.

    Raises:
        OSError: it cannot be read.
    """
    path = _existing(Path(upload.path))
    match upload.target:
        case UploadTarget.CODE:
            return hashing.code_hash(path)
        case UploadTarget.ASSET:
            return hashing.asset_hash(path)
        case UploadTarget.COMPONENT:
            return _component_hash(path)


def _asset(resource: Resource, field: Field, value: Data, scope: Scope) -> Resource | None:
    """The asset that an inline mapping or a local path becomes; None for other values."""
    if isinstance(value, dict) and field.refers_to in KINDS:
        kind = KINDS[field.refers_to]
        form = kind.form_of(value)
        address = own_address(kind, {"name": "", **value}) or Address(kind.name, "")
        return _owned(resource, field, kind, address, written(value, form))
    if not is_local(value) or field.refers_to not in (CODE.name, COMPONENT.name):
        return None
    path = resolve(resource, value)
    if field.refers_to == CODE.name:
        return _code(resource, field, path, scope)
    upload = Upload(
        UploadTarget.COMPONENT,
        _absolute(path),
        _component_hash(path),
        ("properties", "componentSpec"),
    )
    given: dict[Pointer, Data] = {("spec",): _yaml(path)}
    address = Address(COMPONENT.name, names.NAME, None, upload.digest)
    return _owned(resource, field, COMPONENT, address, given, upload, form=WHOLE)


def _code(resource: Resource, field: Field, path: Path, scope: Scope) -> Resource:
    upload = Upload(
        UploadTarget.CODE, _absolute(path), hashing.code_hash(path), ("properties", "codeUri")
    )
    values: dict[Pointer, Data] = {
        ("hash",): upload.digest,
        ("hash_version",): "202208",
        ("uri",): _uri(upload, scope),
    }
    address = Address(CODE.name, str(uuid.uuid5(_CODE_NAMES, upload.digest)), None, "1")
    return _owned(resource, field, CODE, address, values, upload)


def _component_hash(path: Path, known: dict[Path, str | None] | None = None) -> str:
    """A hash of a component's file and of all local content that it names.

    `known` are the hashes of the components that were met, None while one is being made.
    """
    known = {} if known is None else known
    here = files.real(path)
    if here not in known:
        known[here] = None
        spec = _yaml(path)
        known[here] = names.sha256(
            source.dump(spec) + "".join(_named_hashes(spec, path.parent, known))
        )
    found = known[here]
    if found is None:
        raise OSError(errno.ELOOP, "it is a component of itself", str(path))
    return found


def _named_hashes(spec: Data, folder: Path, known: dict[Path, str | None]) -> Iterable[str]:
    """The hashes of the local code and components that a component or its steps name."""
    jobs = pointer.get(spec, ("jobs",))
    for one in (spec, *(jobs.values() if isinstance(jobs, dict) else ())):
        code, component = (pointer.get(one, (key,)) for key in ("code", "component"))
        if isinstance(code, str) and is_local(code):
            yield hashing.code_hash(_existing(folder / code))
        if isinstance(component, str) and is_local(component):
            yield _component_hash(_existing(folder / component), known)


def _yaml(path: Path) -> Data:
    try:
        return source.plain(files.read(path, source.MAX_BYTES).decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise OSError(errno.EILSEQ, "it is not UTF-8 text", str(path)) from error


def _owned(
    resource: Resource,
    field: Field,
    kind: Kind,
    address: Address,
    values: dict[Pointer, Data],
    *uploads: Upload,
    form: Form | None = None,
) -> Resource:
    root, owner = (*resource.root, *field.at), resource.address
    return Resource(address, kind, form or kind.forms[-1], resource.document, values, root, owner, uploads)


def _existing(path: Path) -> Path:
    path.stat()
    return path


def _absolute(path: Path) -> str:
    return str(files.real(_existing(path)))


def _content(
    resource: Resource, field: Field, value: str, scope: Scope
) -> tuple[Data, tuple[Upload, ...]]:
    """What a path becomes that is no asset: the text of a conda file, or an upload and its URI."""
    if not is_local(value):
        return value, ()
    path = resolve(resource, value)
    if field.codec == "conda":
        return names.conda(_yaml(path)), ()
    upload = Upload(UploadTarget.ASSET, _absolute(path), hashing.asset_hash(path), field.wire)
    return _uri(upload, scope), (upload,)


def _uri(upload: Upload, scope: Scope) -> str:
    """Where the SDK uploads content to: a folder named by its hash in the workspace's own store."""
    return f"{_datastore(scope)}/{upload.folder}/{Path(upload.path).name}"


def _datastore(scope: Scope) -> str:
    return (
        f"azureml://subscriptions/{scope.subscription}/resourcegroups/{scope.resource_group}"
        f"/workspaces/{scope.workspace}/datastores/workspaceblobstore/paths"
    )
