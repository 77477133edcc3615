"""Replace local paths by content or uploads, and inline assets by separate resources.

A deployment with a folder of code, an inline environment or a pipeline component in a file needs
assets that no document declares. They become resources here, owned by the deployment, which plan
and apply treat like any other. Their names follow from their content: equal content is the same
asset.
"""

from __future__ import annotations

import errno
from collections.abc import Generator, Iterable, Iterator, Mapping
from pathlib import Path

from mlctl import dataclasses, files, pointer, source
from mlctl.assets import folders, names, steps
from mlctl.assets.private import private_findings
from mlctl.dataclasses import dataclass, replace
from mlctl.diagnostics import Diagnostic, Report, Rule, Severity
from mlctl.digests import uuid_of
from mlctl.files import ON_DISK, Files
from mlctl.kinds import KINDS, datastore_uri, online_io
from mlctl.kinds.address import Address, Scope, own_address
from mlctl.kinds.component_hash import ANONYMOUS
from mlctl.kinds.facts import UploadTarget
from mlctl.kinds.field import Field, Form
from mlctl.kinds.kind import Kind
from mlctl.kinds.records.code import KIND as CODE
from mlctl.kinds.records.component import KIND as COMPONENT
from mlctl.kinds.records.data import KIND as DATA
from mlctl.kinds.resource import Resource, Upload, is_local, local_path
from mlctl.pointer import Data, Pointer

UNREADABLE = Rule("MLC401", "unreadable-path", Severity.ERROR)

JOB_DEFINITION = Rule("MLC410", "job-definition-without-component", Severity.ERROR)

_CODE_NAMES = "6d6c6374-6c00-4000-8000-636f64650000"


@dataclass(frozen=True, slots=True)
class _Resolver:
    """Resolves the local files of one resource after another, and reports unreadable ones.

    `components` are those of files already read: two steps may run the same.
    """

    scope: Scope
    report: Report
    files: Files
    components: dict[Path | None, Resource] = dataclasses.field(default_factory=dict)

    def resolve(self, resource: Resource, parents: tuple[Path, ...] = ()) -> Iterator[Resource]:
        """Yield the assets of a resource, then the resource itself without local paths.

        `parents` are the files of the components that contain it.
        """
        values, uploads = dict(resource.values), list(resource.uploads)
        job = resource.get("job_definition")
        if job is not None and ("component",) not in values:
            if isinstance(job, str):
                unnamed = _component_of_job(resource, job.removeprefix("azureml:"))
                copy = names.name_by_content(unnamed, self.scope)
                values["component",] = _reference(copy)
                yield copy
            else:
                self.report.add(_report_no_component(resource))
        for field in resource.form.fields:
            if field.at not in values:
                continue
            value = values[field.at]
            if field.codec == "data_collector" and isinstance(value, Mapping):
                values[field.at] = yield from _resolve_collections(resource, field, value)
                continue
            if field.codec == "steps" and isinstance(value, Mapping):
                values[field.at] = yield from self._resolve_steps(resource, field, value, parents)
                continue
            if value is None or not (field.path or (isinstance(value, dict) and field.refers_to)):
                continue
            try:
                asset = self._find_asset(resource, field, value, parents)
                if asset is not None:
                    address = yield from self._adopt(resource, field, asset, parents)
                    values[field.at] = _reference(address)
                elif field.path and isinstance(value, str):
                    values[field.at], field_uploads = _read_content(
                        resource, field, value, self.scope, self.files
                    )
                    self.report.extend(private_findings(resource, field, field_uploads))
                    uploads += field_uploads
            except OSError as error:
                self.report.add(_report_unreadable(resource, field, error))
        unchanged = values == resource.values and len(uploads) == len(resource.uploads)
        yield resource if unchanged else replace(resource, values=values, uploads=tuple(uploads))

    def _adopt(
        self, resource: Resource, field: Field, asset: Resource, parents: tuple[Path, ...]
    ) -> Generator[Resource, None, Resource]:
        """Yield an asset and all that it needs; return the asset under its final name."""
        self.report.extend(private_findings(resource, field, asset.uploads))
        of_file = asset.kind is COMPONENT and not asset.root
        file = files.real(Path(asset.document.source.name)) if of_file else None
        if file in self.components:
            return self.components[file]
        *inner, whole = self.resolve(asset, (*parents, file) if file else parents)
        address = names.name_by_content(whole, self.scope)
        for inner_resource in inner:
            yield (
                replace(inner_resource, owner=address.address)
                if inner_resource.owner == asset.address
                else inner_resource
            )
        yield address
        if file is not None:
            self.components[file] = address
        return address

    def _find_asset(
        self, resource: Resource, field: Field, value: Data, parents: tuple[Path, ...]
    ) -> Resource | None:
        """Return the asset of an inline mapping or local path; None for other values."""
        if isinstance(value, dict) and field.refers_to and field.refers_to in KINDS:
            kind = KINDS[field.refers_to]
            form = kind.form_of(value)
            body = {"name": "", **value} if resource.kind.content.names_inline else {}
            address = own_address(kind, body) or Address(kind.name, "")
            return _build_owned(resource, field.at, kind, address, form.written(value), form)
        if not is_local(value) or field.refers_to not in (CODE.name, COMPONENT.name):
            return None
        path = resolve(resource, value)
        if field.refers_to == CODE.name:
            digest = folders.code_hash(path, self.files)
            upload = Upload(UploadTarget.CODE, _absolute(path), digest, ("properties", "codeUri"))
            values: dict[Pointer, Data] = {
                ("hash",): upload.digest,
                ("hash_version",): "202208",
                ("uri",): _uri(upload, self.scope),
            }
            address = Address(CODE.name, uuid_of(upload.digest, _CODE_NAMES), None, "1")
            return _build_owned(resource, field.at, CODE, address, values, CODE.forms[-1], upload)
        return _read_component(resource, path, parents, self.files)

    def _resolve_steps(
        self, resource: Resource, field: Field, jobs: Mapping[str, Data], parents: tuple[Path, ...]
    ) -> Generator[Resource, None, dict[str, Data]]:
        """Yield the components of steps, from files or inline; return steps that refer to them."""
        from mlctl.kinds.steps import FILE, INLINE, SOURCE  # noqa: PLC0415 - most kinds have none

        components: dict[str, Resource] = {}
        resolved = dict(jobs)
        for name, step in jobs.items():
            key = steps.component_key(step) if isinstance(step, Mapping) else ""
            at = replace(field, at=(*field.at, name, key))
            if key and is_local(step.get(key)):
                try:
                    path = resolve(resource, step[key])
                    components[name] = _read_component(resource, path, parents, self.files)
                except OSError as error:
                    self.report.add(_report_unreadable(resource, at, error))
        documents = {name: component.document.data for name, component in components.items()}
        holder = pointer.get(resource.document.data, field.at[:-1])
        pipeline = {**holder, "jobs": jobs}
        for name, step in jobs.items():
            if not isinstance(step, Mapping):
                continue
            asset = components.get(name) or _build_inline_component(
                resource, (*field.at, name), pipeline, documents
            )
            if asset is not None:
                whole = yield from self._adopt(resource, field, asset, parents)
                resolved[name] = {
                    **steps.run(step, asset.form.name, pointer.nest(whole.values)),
                    steps.component_key(step): _reference(whole),
                    SOURCE: FILE if name in components else INLINE,
                }
        return resolved


def resolve_local_files(
    resources: Iterable[Resource], scope: Scope, report: Report, content: Files = ON_DISK
) -> list[Resource]:
    """Return the resources without local paths, each after the assets of its paths.

    Paths that cannot be read are reported (MLC401) and left as they are.
    """
    resolver = _Resolver(scope, report, content)
    return [resolved for resource in resources for resolved in resolver.resolve(resource)]


def _reference(asset: Resource) -> str:
    return f"azureml:{asset.address.name}:{asset.address.version}"


def _read_component(
    resource: Resource, path: Path, parents: tuple[Path, ...], content: Files
) -> Resource:
    """Return the component in a file; its own name and version are ignored."""
    if files.real(path) in parents:
        raise OSError(errno.ELOOP, "the component contains itself", str(path))
    documents = source.load(files.short(path), content.read(path, source.MAX_BYTES), Report())
    if not documents:
        raise OSError(errno.EILSEQ, "it is not a component", str(path))
    data = documents[0].data
    form = COMPONENT.form_of(data)
    values = {**form.written(data), ("name",): ANONYMOUS, ("version",): "1"}
    address = Address(COMPONENT.name, "")
    return Resource(address, COMPONENT, form, documents[0], values, (), resource.address)


def _build_inline_component(
    resource: Resource, at: Pointer, pipeline: Mapping[str, Data], components: Mapping[str, Data]
) -> Resource | None:
    """Return the component that a step contains inline."""
    data = steps.inline_component(str(at[-1]), pipeline, components)
    if data is None:
        return None
    form = COMPONENT.form_of(data)
    values = {**form.written(data), ("name",): ANONYMOUS, ("version",): "1"}
    return _build_owned(resource, at, COMPONENT, Address(COMPONENT.name, ""), values, form)


def _resolve_collections(
    resource: Resource, field: Field, value: Mapping[str, Data]
) -> Generator[Resource, None, dict[str, Data]]:
    """Yield a deployment's data assets for collection, without owner; return the collector."""
    declared, collections = value.get("collections"), dict[str, Data]()
    for name, collection in declared.items() if isinstance(declared, Mapping) else ():
        collections[name] = collection
        if isinstance(collection, Mapping) and online_io.needs_asset(collection.get("data")):
            address = resource.address
            data = online_io.collected_asset(
                str(address.parent), address.name, name, collection.get("data")
            )
            form = DATA.form_of(data)
            whole = Address(DATA.name, str(data["name"]), None, str(data["version"]))
            at = (*field.at, "collections", name)
            asset = _build_owned(resource, at, DATA, whole, form.written(data), form)
            yield replace(asset, owner=None)
            collections[name] = {**collection, "data": _reference(asset)}
    return {**value, "collections": collections}


def _report_no_component(resource: Resource) -> Diagnostic:
    message = "the job has not run, and there is no `component`"
    place = resource.label(("job_definition",), key=True)
    hint = "name a job that has run, `azureml:JOB`, or write `component: ./pipeline.yml`"
    return Diagnostic(JOB_DEFINITION, message, place, hint=hint, address=str(resource.address))


def _component_of_job(resource: Resource, job: str) -> Resource:
    """Return the component that the service makes of a job, as azure-ai-ml 1.35.2 sends it.

    The SDK gives each of them version 1, so a second one could not be created; here the version is
    a hash of the definition, as for other anonymous components.
    """
    body = {"name": ANONYMOUS, "version": "1", "type": "pipeline", "jobs": {}}
    form = COMPONENT.form_of(body)
    values = {**form.written(body), ("source_job_id",): job}
    blank = Address(COMPONENT.name, "")
    return _build_owned(resource, ("job_definition",), COMPONENT, blank, values, form)


def _report_unreadable(resource: Resource, field: Field, error: OSError) -> Diagnostic:
    file_name = f"`{error.filename}`: " if error.filename else ""
    message = f"cannot read {file_name}{error.strerror or error}"
    hint = "paths are relative to the file that names them"
    return Diagnostic(
        UNREADABLE, message, resource.label(field.at), hint=hint, address=str(resource.address)
    )


def resolve(resource: Resource, path: str) -> Path:
    """Resolve a document's path relative to its folder."""
    return resource.document.folder / local_path(path)


def digest(upload: Upload) -> str:
    """Hash an upload's current content; raises OSError if it cannot be read."""
    path = _existing(Path(upload.path))
    match upload.target:
        case UploadTarget.CODE:
            return folders.code_hash(path)
        case UploadTarget.ASSET:
            return folders.asset_hash(path)


def _yaml(path: Path, content: Files) -> Data:
    try:
        return source.plain(content.read(path, source.MAX_BYTES).decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise OSError(errno.EILSEQ, "it is not UTF-8 text", str(path)) from error


def _build_owned(
    resource: Resource,
    at: Pointer,
    kind: Kind,
    address: Address,
    values: dict[Pointer, Data],
    form: Form,
    *uploads: Upload,
) -> Resource:
    root, owner = (*resource.root, *at), resource.address
    return Resource(address, kind, form, resource.document, values, root, owner, uploads)


def _existing(path: Path) -> Path:
    path.stat()
    return path


def _absolute(path: Path) -> str:
    return str(files.real(_existing(path)))


def _read_content(
    resource: Resource, field: Field, value: str, scope: Scope, content: Files
) -> tuple[Data, tuple[Upload, ...]]:
    """Return what a path becomes other than an asset: a conda file's text, or an upload's URI."""
    if not is_local(value):
        return value, ()
    path = resolve(resource, value)
    if field.codec == "conda":
        return names.conda(_yaml(path, content)), ()
    digest = folders.asset_hash(path, content)
    upload = Upload(UploadTarget.ASSET, _absolute(path), digest, field.wire)
    return _uri(upload, scope), (upload,)


def _uri(upload: Upload, scope: Scope) -> str:
    """Return where the SDK uploads content: a folder named by its hash in the default store."""
    path = f"azureml://datastores/workspaceblobstore/paths/{upload.folder}/{Path(upload.path).name}"
    return datastore_uri.long(path, scope, "resourcegroups")
