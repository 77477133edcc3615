"""`${{ var.NAME }}` and `${{ env.NAME }}` in the values of documents.

A value that is nothing but an expression takes the variable's value and type; in a longer text, the
value's spelling is inserted. Environment variables (`env`) are text.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mlctl import pointer
from mlctl.dataclasses import dataclass, field
from mlctl.diagnostics import Diagnostic, Label, Report, Rule, Severity
from mlctl.masking import Secrets
from mlctl.pointer import Data, Pointer
from mlctl.schema.text import nearest
from mlctl.source import Document
from mlctl.source.document import DocumentView
from mlctl.source.rules import TOO_BIG

if TYPE_CHECKING:
    from mlctl.kinds.expressions import Expression

UNSET_VARIABLE = Rule("MLC122", "unset-variable", Severity.ERROR)

_VAR, _ENV = "var", "env"
_MOST_CHARACTERS = 100_000_000  # that variables add to all documents
_LESS = "use shorter variables, or name a file instead"
_SCALARS = (str, bool, int, float)


@dataclass(frozen=True, eq=False)
class FilledDocument(DocumentView):
    """A document with values in place of expressions, at the pointers in `filled`.

    Each of these pointers has the roots of its expressions (`var`, `env`).
    """

    filled: Mapping[Pointer, frozenset[str]] = field(default_factory=dict)

    def written(self, at: Pointer) -> str | None:
        """Return the text as written; None if no file has it."""
        return None if self._roots(at) else super().written(at)

    def from_environment(self, at: Pointer) -> bool:
        """Whether the value comes from an environment variable."""
        return _ENV in self._roots(at)

    def _roots(self, at: Pointer) -> frozenset[str]:
        prefixes = (at[:length] for length in range(len(at), -1, -1))
        return next(
            (self.filled[prefix] for prefix in prefixes if prefix in self.filled), frozenset()
        )


@dataclass(frozen=True, slots=True)
class Unchosen:
    """The environments of a project if none is chosen, and the variables that they set."""

    names: tuple[str, ...]
    variables: frozenset[str]
    label: Label

    def finding(self) -> Diagnostic:
        """Build the one finding about all variables that lack a value for that reason."""
        message = f"variables only have values in {', '.join(self.names)}, and none is chosen"
        hint = f"choose one: {', '.join(f'--env {name}' for name in self.names)}"
        return Diagnostic(UNSET_VARIABLE, message, self.label, hint)


@dataclass(frozen=True, slots=True)
class Variables:
    """The values: `given` come from files and flags, `environment` is the process's.

    Values from the environment are added to `secrets`, except for those that are `plain`. Without a
    project no `mlctl.yml` was read. `unchosen` is set if a project has environments and none is
    chosen. `spent` counts the characters inserted into documents.
    """

    given: Mapping[str, Data] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    secrets: Secrets = field(default_factory=Secrets)
    has_project: bool = True
    plain: frozenset[str] = frozenset()
    unchosen: Unchosen | None = None
    spent: list[int] = field(default_factory=list, repr=False)

    def fill(self, document: Document, report: Report) -> Document:
        """Insert the values; a variable without one is a finding, and is left as it is."""
        if not document.may_hold("${{") or sum(self.spent) > _MOST_CHARACTERS:
            return document
        from mlctl.kinds.expressions import find, only  # noqa: PLC0415 - few files have any

        own = {
            at: (text, expressions)
            for at, text in pointer.texts(document.data)
            if (expressions := [part for part in find(text) if part.path[0] in (_VAR, _ENV)])
        }
        filled: dict[Pointer, frozenset[str]] = {}
        data = copy.deepcopy(document.data) if own else {}
        for at, (text, expressions) in own.items():
            missing = [expression for expression in expressions if self._value(expression) is None]
            for expression in missing:
                label = document.label(at)
                report.add(self._report_unset(expression, label))
                label.span.source.unfilled |= {*range(label.span.line, label.span.end_line + 1)}
            if missing:
                continue
            self.spent.extend(_length(self._value(expression)) for expression in expressions)
            self.spent[:] = [sum(self.spent)]
            if self.spent[0] > _MOST_CHARACTERS:
                message = f"the variables add more than {_MOST_CHARACTERS:,} characters"
                report.add(Diagnostic(TOO_BIG, message, document.label(at), _LESS))
                break
            filled[at] = frozenset(expression.path[0] for expression in expressions)
            alone = only(text)
            if alone is not None:
                _set_value(data, at, copy.deepcopy(self._value(alone)))
            else:
                _set_value(data, at, self._fill_text(text, expressions, document.label(at), report))
        if not filled:
            return document
        whole = (document.source, data, document.index, document.line, document.begin, document.end)
        return FilledDocument(*whole, document, filled)

    def _value(self, expression: Expression) -> Data:
        root, *names = expression.path
        if not names:
            return None
        if root == _VAR:
            return pointer.get(self.given, tuple(names))
        name = ".".join(names)
        value = self.environment.get(name)
        if value is not None and name not in self.plain:
            self.secrets.add_variable(name, value)
        return value

    def _fill_text(
        self, text: str, expressions: list[Expression], label: Label, report: Report
    ) -> str:
        """Insert the values of its expressions into a text."""
        out, end = "", 0
        for expression in expressions:
            value = self._value(expression)
            if not isinstance(value, _SCALARS):
                value_type = "a list" if isinstance(value, list) else "a mapping"
                message = f"`{expression.text}` is {value_type}, which cannot be part of a text"
                hint = "make it the whole value, or name a part of it"
                report.add(Diagnostic(UNSET_VARIABLE, message, label, hint))
                return text
            out += text[end : expression.start] + (
                value if isinstance(value, str) else json.dumps(value)
            )
            end = expression.end
        return out + text[end:]

    def _report_unset(self, expression: Expression, label: Label) -> Diagnostic:
        root, *names = expression.path
        name = ".".join(names)
        if root == _VAR and self.unchosen is not None and set(names[:1]) & self.unchosen.variables:
            return self.unchosen.finding()
        if not names:
            message = f"`{expression.text}` names no variable"
            hint = f"write `${{{{ {root}.NAME }}}}`"
        elif root == _VAR:
            near = None if name in self.given else nearest(name, list(self.given))
            message = f"the variable `{name}` has no value"
            hint = f"set it with `--var {name}=VALUE`, `variables:` in mlctl.yml, or --env"
            if not self.has_project:
                message += ": no project was given"
                hint = "pass `project=mlctl.read_project(...)`, or a value in `variables`"
            if near:
                hint = f"did you mean `{near}`?"
        else:
            message = f"the environment variable `{name}` is not set"
            hint = f"run `export {name}=...` first"
        return Diagnostic(UNSET_VARIABLE, message, label, hint)


def _length(value: Data) -> int:
    """Return about how many characters a value has."""
    return len(value) if isinstance(value, str) else len(json.dumps(value))


def _set_value(data: Any, at: Pointer, value: Data) -> None:
    *parents, last = at
    for step in parents:
        data = data[step]
    data[last] = value
