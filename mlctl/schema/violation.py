"""A violation of a schema, with everything that its message needs."""

from __future__ import annotations

from typing import Any

from mlctl import pointer
from mlctl.dataclasses import dataclass
from mlctl.diagnostics import Diagnostic, Label, Rule
from mlctl.pointer import Pointer
from mlctl.schema import text
from mlctl.schema.structure import Schema
from mlctl.source import Document


@dataclass(frozen=True, slots=True)
class Violation:
    """`value` at `at` does not match a keyword of `schema`, whose value is `wants`.

    `form` is the schema of the document's form, `others` are the other forms of its kind. `outer`
    is the schema with the `anyOf` of which `schema` is an alternative.
    """

    document: Document
    form: Schema
    others: tuple[Schema, ...]
    at: Pointer
    schema: Schema
    value: Any
    wants: Any
    outer: Schema

    @property
    def name(self) -> str:
        """The field in messages: `` `settings.timeout` ``."""
        return f"`{pointer.dotted(self.at)}`" if self.at else "the document"

    @property
    def secret(self) -> bool:
        """Whether neither the value nor its line may be shown."""
        return bool(self.schema.get("x-ms-secret"))

    @property
    def shown(self) -> str:
        """The value, described briefly."""
        return "this value" if self.secret else text.shown(self.value)

    def diagnostic(
        self,
        rule: Rule,
        message: str,
        hint: str | None = None,
        *,
        key: str | None = None,
        related: tuple[Label, ...] = (),
    ) -> Diagnostic:
        """Build a diagnostic at the value, or at its `key`; for a secret, at the key above it."""
        if key is not None:
            primary = self.document.label((*self.at, key), key=True)
        elif self.secret:
            primary = self.document.label(self.at[:-1], key=True)
        else:
            primary = self.document.label(self.at, key=self.value is None)
        return Diagnostic(rule, message, primary, hint, related)
