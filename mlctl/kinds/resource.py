"""A resource: a document interpreted as a kind, with an address and values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from mlctl import pointer
from mlctl.dataclasses import dataclass
from mlctl.diagnostics import Label
from mlctl.kinds.address import Address, Reference, own_address
from mlctl.kinds.facts import UploadTarget
from mlctl.kinds.field import Field, Form, read_field
from mlctl.kinds.kind import Kind
from mlctl.pointer import Data, Pointer
from mlctl.schema import Schema, places
from mlctl.source import Document

# `azureml:NAME`, `https://...`; `file:` is local, a letter and a colon is a drive
_SCHEME = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+:")
_ARM_ID = "/subscriptions/"
_NOT_CLUSTERS = ("local", "serverless")  # values of `compute` that are not a resource


@dataclass(frozen=True, slots=True)
class Upload:
    """Local content that must be uploaded before a resource's body can refer to it.

    `wire` points at the reference in the body. `path` is absolute; `digest` is the content's hash
    at planning time.
    """

    target: UploadTarget
    path: str
    digest: str
    wire: tuple[str | int, ...]

    @property
    def folder(self) -> str:
        """The datastore folder to which the SDK would upload it."""
        return f"LocalUpload/{self.digest}"


@dataclass(frozen=True, eq=False)
class Resource:
    """A resource as declared in a file.

    `values` are as written, by the pointers of the form's fields. `root` is the resource's place in
    the document: `()` unless it is written inline in another (`owner`). `uploads` is the local
    content that it names.
    """

    address: Address
    kind: Kind
    form: Form
    document: Document
    values: Mapping[Pointer, Data]
    root: Pointer = ()
    owner: Address | None = None
    uploads: tuple[Upload, ...] = ()

    @property
    def anonymous(self) -> bool:
        """Whether it is written inline without a name."""
        return self.owner is not None and self.given_name is None

    @property
    def given_name(self) -> str | None:
        """The name in the document, if names count there."""
        unnamed = self.owner is not None and self.address.name == self.kind.content.anonymous_name
        return None if unnamed else self.text("name")

    def label(self, at: Pointer = (), text: str = "", *, key: bool = False) -> Label:
        """Return the place of a value (or its key), also if written under an alias."""
        whole = (*self.root, *at)
        if pointer.get(self.document.data, whole) is None:
            alias = next((field.at for field in self.form.aliases if field.alias_of == at), None)
            whole = (*self.root, *alias) if alias else whole
        return self.document.label(whole, text, key=key)

    def get(self, *at: str) -> Data:
        """Return the value as written at a pointer of the document, whether a field or not."""
        return pointer.get(self.document.data, (*self.root, *at) if self.root else at)

    def text(self, *at: str) -> str | None:
        """Return the value if it is text: rules also see documents with type errors."""
        value = self.get(*at)
        return value if isinstance(value, str) else None

    def number(self, *at: str) -> int | None:
        """Return the value if it is a whole number."""
        value = self.get(*at)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def effective(self, *at: str) -> Data:
        """Return the value that the service will see: as written, by an alias, or the default."""
        if at in self.values:
            return self.values[at]
        field = self.form.field(at)
        return field.default if field else None

    def references(self) -> list[tuple[Field, Reference]]:
        """The fields that name other resources, and their references."""
        references = []
        for field, value in self._referring():
            if field.refers_to and isinstance(value, str) and not _is_no_resource(value):
                reference = Reference.parse(value, field.refers_to)
                if reference is not None:
                    references.append((field, reference))
        met = {field.at for field, _ in references}
        return references + [
            nested for nested in self._nested_references() if nested[0].at not in met
        ]

    def places(self, annotation: str) -> Iterator[tuple[Pointer, Schema]]:
        """Find the places in steps, maps and inline assets whose schema has an annotation."""
        for field in self.form.nested:
            value = self.values.get(field.at)
            if isinstance(value, dict | list):
                for at, level in places(field.schema, value, field.at):
                    if annotation in level:
                        yield at, level

    def _nested_references(self) -> Iterator[tuple[Field, Reference]]:
        for at, level in self.places("x-mlctl-refers-to"):
            value = self.get(*map(str, at))
            if isinstance(value, str) and not _is_no_resource(value) and "${{" not in value:
                field = read_field(level, at)
                reference = Reference.parse(value, str(field.refers_to))
                if reference is not None:
                    yield field, reference

    def _referring(self) -> Iterator[tuple[Field, Data]]:
        """Return the fields that may name other resources, including those in steps."""
        for field in self.form.referring:
            is_field_value = field.at in self.values
            yield field, self.values[field.at] if is_field_value else self.get(*map(str, field.at))
        if not self.form.with_inner_fields:
            return
        from mlctl.kinds import codec  # noqa: PLC0415 - most kinds have no steps

        for field in self.form.with_inner_fields:
            value = self.values.get(field.at)
            for inner in codec.inner_fields(field, value):
                yield inner, pointer.get(value, inner.at[len(field.at) :])


def build(document: Document, kind: Kind) -> Resource | None:
    """Build the resource of a document; None if it has no address.

    If the service generates the name, the document's place stands for it.
    """
    form = kind.form_of(document.data)
    address = own_address(kind, document.data)
    if address is None and "name" not in {*document.data, *form.schema.get("required", ("name",))}:
        address = Address(kind.name, document.place)
    if address is None:
        return None
    return Resource(address, kind, form, document, form.written(document.data))


def _is_no_resource(value: str) -> bool:
    """Whether a value of `compute`, with or without `azureml:`, names no cluster."""
    return value.removeprefix("azureml:").casefold() in _NOT_CLUSTERS


def is_local(value: Data) -> bool:
    """Whether a value is a local path, rather than a reference, a URI or content."""
    if not isinstance(value, str) or not value or "\n" in value or value.startswith(_ARM_ID):
        return False
    return not _SCHEME.match(value)


def local_path(value: str) -> Path:
    """Return the path of a local value, without a leading `file:`."""
    return Path(value.removeprefix("file:"))
