"""Explain what is wrong with a document by its schema, with our own words for common errors."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import Draft202012Validator, extend

from mlctl import pointer
from mlctl.diagnostics import Diagnostic
from mlctl.pointer import Data, Pointer
from mlctl.schema import fields, rules, values
from mlctl.schema.structure import Schema, forms, once_per_schema, resolved
from mlctl.schema.text import enumerated
from mlctl.schema.violation import Violation
from mlctl.source import Document

# As marshmallow reads them, which the SDK checks documents with.
_TRUE = ("true", "yes", "on", "y", "t")
_FALSE = ("false", "no", "off", "n", "f")
_LONGEST = 40  # characters of a number
_STRICT = "search_space"  # where only whole numbers are whole numbers


def read_as_az_does(errors: Iterable[ValidationError], document: Document) -> Iterator[Diagnostic]:
    """Give a document the values that az would read in it, with a warning for each."""
    for at, types, value in _type_errors(errors):
        above: Data = pointer.get(document.data, at[:-1])
        if not at or not isinstance(above, dict | list):
            continue
        reading = _reading(value, types, at)
        if reading is not None and pointer.get(document.data, at) == value:
            above[at[-1]] = reading  # type: ignore[index]  # a pointer into it
            shown = str(reading).lower() if isinstance(reading, bool) else str(reading)
            kind = "text" if isinstance(value, str) else "a number"
            quoted = f'quote it: "{document.written(at)}"'
            hint = quoted if isinstance(reading, str) else f"write {shown}"
            message = f"`{pointer.dotted(at)}` is written as {kind}; az reads it as `{shown}`"
            yield Diagnostic(rules.READ_OTHERWISE, message, document.label(at), hint)


def _type_errors(
    errors: Iterable[ValidationError],
) -> Iterator[tuple[Pointer, tuple[str, ...], Data]]:
    """Where a value has another type, which types the field takes, and the value."""
    for error in errors:
        if error.validator == "type":
            types: Any = error.validator_value
            names = (types,) if isinstance(types, str) else tuple(types)
            yield tuple(error.absolute_path), names, error.instance
        yield from _type_errors(error.context or ())


def _reading(value: Data, types: tuple[str, ...], at: Pointer) -> Data:
    """What az reads; None where it reads nothing else, or refuses the value."""
    if "boolean" in types and at[-1] == "default":
        return None  # a component takes only true and false
    if isinstance(value, str):
        return _parsed(value.strip().casefold(), types) if len(value) <= _LONGEST else None
    if types == ("boolean",) and value in (0, 1):
        return bool(value)
    return _whole(value, types, at) if isinstance(value, float) else None


def _parsed(word: str, types: tuple[str, ...]) -> Data:
    """What az reads of a text."""
    if "boolean" in types and word in (*_TRUE, *_FALSE):
        return word in _TRUE
    if not {"integer", "number"} & {*types} or "_" in word:
        return None
    try:
        number = float(word)
    except ValueError:
        return None
    whole = word.lstrip("+-").isdecimal()
    return int(word) if whole else number if "number" in types and math.isfinite(number) else None


def _whole(value: float, types: tuple[str, ...], at: Pointer) -> Data:
    """What az reads of a number with a fraction: a version as text, else the whole part."""
    if {"string", "integer"} == {*types} and at[-1] == "version":
        return str(value)
    is_cut = types == ("integer",) and math.isfinite(value) and _STRICT not in at
    return int(value) if is_cut else None


def explain(document: Document, schema: Schema) -> Iterator[Diagnostic]:
    """Yield the schema's findings on a document, without duplicates."""
    validator = _validator(schema)
    errors = list(validator.iter_errors(document.data))
    readings = list(read_as_az_does(errors, document))
    yield from readings
    if readings:
        errors = list(validator.iter_errors(document.data))
    if errors:
        form, other_forms = _form(validator, document)
        findings = (
            finding
            for error in errors
            for finding in _diagnostics(error, document, form, other_forms)
        )
        yield from dict.fromkeys(findings)


@once_per_schema
def _validator(schema: Schema) -> Validator:
    # Resolve references first: following them each time takes half of the check.
    exact: Any = extend(Draft202012Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]
    validator: Validator = exact(resolved(schema))
    return validator


def _pattern(_validator: Validator, pattern: str, instance: Any, _schema: Schema) -> Iterator[Any]:
    """Check `pattern` with `$` only at the very end; Python's also matches before a line break."""
    if isinstance(instance, str) and (
        not re.search(pattern, instance) or (pattern.endswith("$") and instance.endswith("\n"))
    ):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _form(validator: Validator, document: Document) -> tuple[Schema, tuple[Schema, ...]]:
    """Return the document's form, and the other forms of its kind."""
    root: Any = validator.schema
    ladder = list(forms(root))
    chosen = next(
        form
        for condition, form in ladder
        if condition is None or validator.evolve(schema=condition).is_valid(document.data)
    )
    return chosen, tuple(form for _, form in ladder if form is not chosen)


def _diagnostics(
    error: ValidationError, document: Document, form: Schema, other_forms: tuple[Schema, ...]
) -> Iterator[Diagnostic]:
    schema: Any = error.schema
    outer: Any = error.parent.schema if error.parent else {}
    violation = Violation(
        document,
        form,
        other_forms,
        tuple(error.absolute_path),
        schema,
        error.instance,
        error.validator_value,
        outer,
    )
    if "propertyNames" in error.absolute_schema_path:
        yield fields.bad_key(violation)
        return
    match error.validator:
        case "additionalProperties":
            yield from fields.unknown(violation)
        case "required":
            yield from fields.missing(violation)
        case "not" if "required" in violation.wants:
            if isinstance(error.instance, dict):  # otherwise its type is wrong, which is reported
                yield fields.excluding(violation)
        case "anyOf" | "enum":
            yield from _any_of(error, violation)
        case "type":
            types = violation.wants
            yield values.wrong_type(violation, [types] if isinstance(types, str) else types)
        case "minimum" | "maximum" as bound:
            yield values.out_of_bounds(violation, "least" if bound == "minimum" else "most")
        case "pattern" | "minLength" | "maxLength":
            yield values.bad_text(violation)
        case "minItems" | "maxItems" | "maxProperties":
            yield values.too_many(violation) if violation.value else values.empty_list(violation)
        case "uniqueItems":
            yield values.repeated_item(violation)
        case _:
            yield violation.diagnostic(
                rules.NOT_AS_THE_SCHEMA, f"{violation.name}: {error.message}"
            )


def _any_of(error: ValidationError, violation: Violation) -> Iterator[Diagnostic]:
    """Report on the intended alternative: the one that accepts the value's type."""
    branches: list[Schema] = violation.wants
    if enumerated(violation.schema):
        yield values.not_allowed(violation)
        return
    if all("required" in branch and "properties" not in branch for branch in branches):
        yield from fields.one_of(violation, branches)
        return
    fitting = [i for i, branch in enumerate(branches) if values.fits(violation, branch)]
    if not fitting:
        yield values.wrong_type(
            violation, [type_name for branch in branches for type_name in values.types(branch)]
        )
    elif len(fitting) > 1 and isinstance(violation.value, str):
        grammar = [str(branches[i].get("x-mlctl-reference", branches[i])) for i in fitting]
        yield values.bad_reference(
            violation, grammar, [branches[i].get("pattern", "") for i in fitting]
        )
    else:
        causes = {
            i: [cause for cause in error.context or () if cause.relative_schema_path[0] == i]
            for i in fitting
        }
        for inner in min(causes.values(), key=len):  # of the branch that it is nearest to
            yield from _diagnostics(inner, violation.document, violation.form, violation.others)
