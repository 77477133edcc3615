"""Secrets in documents as plain text, and the asterisks of masked ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from mlctl import masking, pointer
from mlctl.config.graph import Graph
from mlctl.config.rules.base import RuleContext, declared, finding
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.pointer import Pointer
from mlctl.source import Document

PLAIN_SECRET = Rule("MLC319", "secret-in-file", Severity.WARNING)
MASKED_VALUE = Rule("MLC328", "masked-value", Severity.ERROR)
_MASKED = r"(?:.*[:=])?\*\*\*(?:[@&;].*)?"


def plain_secrets(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC319. The lines that are shown have asterisks in place of the secret."""
    for resource in declared(graph):
        if resource.owner is not None or not resource.document.may_hold_secrets:
            continue
        for at in masking.places(resource.document.data):
            if at in resource.form.credentials or resource.document.from_environment(at):
                continue  # credentials have rules of their own: MLC312, MLC313
            diagnostic = plain_secret(resource.document, at)
            yield replace(diagnostic, address=str(resource.address))


def plain_secret(document: Document, at: Pointer) -> Diagnostic:
    """MLC319 at a place of a document, of a resource or a file that it names."""
    return Diagnostic(
        PLAIN_SECRET,
        f"`{pointer.dotted(at)}` looks like a secret, and is in the file as plain text",
        document.label(at, key=True),
        "put a placeholder in the file (`${{ env.NAME }}`), or read it from Key Vault",
    )


def masked_values(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC328."""
    for resource in declared(graph):
        if resource.owner is not None or not resource.document.may_hold(masking.MASK):
            continue
        for at, text in pointer.texts(resource.document.data):
            if masking.MASK in text and re.fullmatch(_MASKED, text, re.DOTALL):
                yield finding(
                    MASKED_VALUE,
                    resource,
                    resource.document.label(at),
                    f"`{pointer.dotted(at)}` holds asterisks in place of a secret",
                    "write the value by a placeholder, or remove the field",
                )


CHECKS = (plain_secrets, masked_values)
