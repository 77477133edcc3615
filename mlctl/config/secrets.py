"""The secrets of documents, which no output may show."""

from __future__ import annotations

from mlctl import masking, pointer
from mlctl.kinds import Kind
from mlctl.masking import Secrets
from mlctl.source import Document


def hide_secrets(document: Document, kind: Kind, secrets: Secrets) -> None:
    """Add the values of secrets, as read and as written, to what no output may show."""
    secret_fields = {
        at: pointer.get(document.data, at) for at in kind.form_of(document.data).secrets
    }
    given_secrets = [(at, value) for at, value in secret_fields.items() if value is not None]
    looks_like_secrets = masking.find(document.data) if document.may_hold_secrets else ()
    for at, value in (*given_secrets, *looks_like_secrets):
        pieces = {line.strip() for line in str(value).splitlines()}
        if value == pointer.get(document.data, at):
            span = document.label(at).span
            pieces |= {line.strip().strip("\"'") for line in span.text.splitlines()}
            span.source.secrets |= pieces - {""}
        document.source.secrets |= pieces - {""}
        secrets.add(pieces)
