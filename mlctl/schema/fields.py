"""Findings about keys: unknown, misplaced, missing, mutually exclusive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from mlctl import pointer
from mlctl.dataclasses import replace
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.pointer import Pointer
from mlctl.schema import rules
from mlctl.schema.files import load, names
from mlctl.schema.structure import Schema, forms, resolved
from mlctl.schema.text import enumerated, example, listed, nearest, with_article
from mlctl.schema.values import breach
from mlctl.schema.violation import Violation

# Keys that are accepted in every component, and in every step that runs one.
IGNORED_FIELD = Rule("MLC358", "ignored-field", Severity.WARNING)
_FEW = 12


def unknown(violation: Violation) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each key that the schema does not have."""
    for key in violation.value:
        if key in _known(violation.schema):
            continue
        refused = _misplaced(violation, key) or _misspelt(violation, key)
        ignored = violation.schema.get("x-mlctl-unknown") == "ignored"
        yield replace(refused, rule=IGNORED_FIELD) if ignored else refused


def missing(violation: Violation) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each missing required key.

    None if the key is misspelt, or the document has fields of another form: those have diagnostics
    of their own.
    """
    strange = [key for key in violation.value if key not in _known(violation.schema)]
    if not violation.at and any(_form_with(violation, key) for key in strange):
        return
    suggestions = [nearest(key, _known(violation.schema)) for key in strange]
    retired = _retired(violation)
    for key in violation.wants:
        if key not in violation.value and key not in suggestions and f"`{key}`" not in retired:
            yield _missing(violation, [key])


def _retired(violation: Violation) -> str:
    """Return what is said of the earlier names of keys that the value has."""
    texts = violation.schema.get("x-mlctl-retired", {})
    return " ".join(texts.get(key, "") for key in violation.value)


def one_of(violation: Violation, branches: Iterable[Schema]) -> Iterator[Diagnostic]:
    """Report that one of several sets of keys is required, by the first key that each lacks.

    It is not reported if an earlier name of one is there.
    """
    keys = [
        next(key for key in branch["required"] if key not in violation.value) for branch in branches
    ]
    if not any(f"`{key}" in _retired(violation) for key in keys):
        yield _missing(violation, keys)


def excluding(violation: Violation) -> Diagnostic:
    """Report keys that exclude each other, at the last of them."""
    *first_keys, last = sorted(violation.wants["required"], key=list(violation.value).index)
    related = tuple(
        violation.document.label((*violation.at, key), "and this", key=True) for key in first_keys
    )
    message = f"{listed([*first_keys, last], 'and')} exclude each other"
    return violation.diagnostic(
        rules.EXCLUDING_FIELDS, message, "remove one of them", key=last, related=related
    )


def bad_key(violation: Violation) -> Diagnostic:
    """Report a user-defined key (the name of a step) that is not a valid name."""
    key, schema = violation.value, violation.schema
    message = f"{violation.shown} is not a valid name: {breach(key, schema)}"
    return violation.diagnostic(rules.BAD_NAME, message, schema.get("x-mlctl-name"), key=key)


def _known(schema: Schema) -> Schema:
    properties: Schema = schema.get("properties", {})
    return properties


def _misplaced(violation: Violation, key: str) -> Diagnostic | None:
    """Report a key that belongs elsewhere in this form, or to another form; None otherwise."""
    if key in violation.schema.get("x-mlctl-retired", {}):
        return None
    place = _place(violation.form, key)
    if place is not None:
        position = f"under `{pointer.dotted(place)}`" if place else "at the top level"
        return violation.diagnostic(
            rules.WRONG_FORM, f"`{key}` belongs {position}", "move it there", key=key
        )
    other_form = None if violation.at else _form_with(violation, key)
    if other_form is None:
        return None
    types = enumerated(_known(other_form).get("type", {}))
    has_type = len(types) == 1 or "type" in other_form.get("required", ())
    needed_type = f"`type: {types[0]}`" if has_type else "no `type`"
    place = _place(other_form, key)
    under = f", where it belongs under `{pointer.dotted(place)}`" if place else ""
    return violation.diagnostic(
        rules.WRONG_FORM,
        f"`{key}` needs {needed_type}{under}",
        _form_hint(violation, needed_type),
        key=key,
    )


def _form_hint(violation: Violation, needed_type: str) -> str:
    if "type" in violation.value:
        type_name = violation.value["type"]
        return f"this document has `type: {type_name}`: remove the field, or change the type"
    return f"add {needed_type}"


def _form_with(violation: Violation, key: str) -> Schema | None:
    """Return another form that has a key which this form does not have anywhere."""
    if _place(violation.form, key) is not None or key in violation.schema.get(
        "x-mlctl-retired", {}
    ):
        return None
    having = [form for form in violation.others if _place(form, key) is not None]
    return max(
        having, key=lambda form: len(_known(form).keys() & violation.value.keys()), default=None
    )


def _place(schema: Schema, key: str, at: Pointer = ()) -> Pointer | None:
    """Return the pointer of the topmost object that has a key."""
    if key in _known(schema):
        return at
    below = (_place(inner, key, (*at, name)) for name, inner in _known(schema).items())
    return next((place for place in below if place is not None), None)


def _misspelt(violation: Violation, key: str) -> Diagnostic:
    hint = _unknown_hint(violation, key)
    diagnostic = violation.diagnostic(rules.UNKNOWN_FIELD, f"unknown field `{key}`", hint, key=key)
    return replace(diagnostic, preview=rules.is_preview(hint))


def _unknown_hint(violation: Violation, key: str) -> str:
    retired = violation.schema.get("x-mlctl-retired", {}).get(key)
    if retired:
        return str(retired)
    writable = [
        name for name, schema in _known(violation.schema).items() if not schema.get("readOnly")
    ]
    near = nearest(key, writable)
    if near:
        return f"did you mean `{near}`?"
    kind = None if violation.at else _kinds_by_key().get(key)
    if kind:
        return f"{with_article(kind)} has it: if this is one, name its schema in `$schema`"
    few = sorted(name for name in writable if name != "$schema")
    return f"the fields here are {listed(few[:_FEW], 'and')}" + (" and more" if few[_FEW:] else "")


@cache
def _kinds_by_key() -> dict[str, str]:
    """Return key -> the title of the first schema that has it at its top level."""
    titles: dict[str, str] = {}
    for name in names():
        root = resolved(load(name))
        for _, form in forms(root):
            for key in _known(form):
                titles.setdefault(key, str(root["title"]).lower())
    return titles


def _missing(violation: Violation, keys: list[str]) -> Diagnostic:
    examples = [example(key, _known(violation.schema).get(key, {})) for key in keys]
    hint = listed([line for line in examples if line]) or None
    owner = f" in {violation.name}" if violation.at else ""
    message = f"{listed(keys)} is missing{owner}"
    primary = violation.document.label(violation.at, key=True)
    return Diagnostic(rules.MISSING_FIELD, message, primary, hint and f"add {hint}")
