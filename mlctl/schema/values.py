"""Findings about values: wrong types, bounds, empty values, bad names and references."""

from __future__ import annotations

import json
import re

from mlctl.dataclasses import replace
from mlctl.diagnostics import Diagnostic
from mlctl.schema import rules
from mlctl.schema.structure import Schema
from mlctl.schema.text import (
    enumerated,
    example,
    is_a,
    listed,
    nearest,
    placeholder,
    seconds,
    shown,
    typed,
)
from mlctl.schema.violation import Violation


def wrong_type(violation: Violation, types: list[str]) -> Diagnostic:
    """Report a value that has none of the types; null means that it was forgotten."""
    if violation.value is None:
        return _empty(violation, f"{violation.name} has no value")
    shown_value = (
        "text" if violation.secret and isinstance(violation.value, str) else violation.shown
    )
    shown_value = (
        f"the text {shown_value}"
        if isinstance(violation.value, str) and not violation.secret
        else shown_value
    )
    return violation.diagnostic(
        rules.WRONG_TYPE,
        f"{violation.name} takes {typed(types)}, not {shown_value}",
        _placeholder_hint(violation) or _type_hint(violation, types),
    )


def not_allowed(violation: Violation) -> Diagnostic:
    """Report a value that is not among the allowed ones."""
    allowed = enumerated(violation.schema)
    retired = violation.schema.get("x-mlctl-retired", {}).get(str(violation.value))
    words = [*allowed, *_types_of_others(violation)]
    near = nearest(re.sub("_(job|component)$", "", str(violation.value)), words)  # so in 2021
    hint = retired or (f"did you mean `{near}`?" if near else f"write {listed(allowed)}")
    message = f"{violation.name} does not take {violation.shown}"
    diagnostic = violation.diagnostic(
        rules.VALUE_NOT_ALLOWED, message, _placeholder_hint(violation) or hint
    )
    return replace(diagnostic, preview=rules.is_preview(hint))


def _types_of_others(violation: Violation) -> list[str]:
    """Return the types of the other forms of the document; none for other fields."""
    if violation.at != ("type",):
        return []
    of_type = [form.get("properties", {}).get("type", {}) for form in violation.others]
    return [word for schema in of_type for word in enumerated(schema)]


def out_of_bounds(violation: Violation, bound: str) -> Diagnostic:
    """Report a number below the minimum or above the maximum."""
    message = f"{violation.name} is {violation.value}; the {bound} is {violation.wants}"
    return violation.diagnostic(rules.OUT_OF_BOUNDS, message, violation.schema.get("description"))


def bad_text(violation: Violation) -> Diagnostic:
    """Report a text of the wrong length or form: empty, a bad name, a bad reference, or other."""
    if not violation.value:
        return _empty(violation, f"{violation.name} is empty")
    rule = violation.schema.get("x-mlctl-name")
    if rule:
        message = (
            f"{violation.shown} is not a valid name: {breach(violation.value, violation.schema)}"
        )
        hint = _placeholder_hint(violation) or str(rule)
        diagnostic = violation.diagnostic(rules.BAD_NAME, message, hint)
        longest = violation.schema.get("x-mlctl-seen-length", 0)
        return replace(diagnostic, accepted=_is_only_long(violation, longest))
    if "x-mlctl-reference" in violation.schema:
        return bad_reference(violation, [str(violation.schema["x-mlctl-reference"])], [])
    return violation.diagnostic(
        rules.VALUE_NOT_ALLOWED,
        f"{violation.name} does not take {violation.shown}",
        _placeholder_hint(violation) or violation.schema.get("description"),
    )


def _is_only_long(violation: Violation, longest: int) -> bool:
    """Whether a text is valid but for its length, which is at most `longest`."""
    text, schema = violation.value, violation.schema
    shortest = schema.get("minLength", 0)
    return shortest <= len(text) <= longest and bool(re.search(schema["pattern"], text))


def bad_reference(violation: Violation, grammar: list[str], patterns: list[str]) -> Diagnostic:
    """Report a text that is not a reference."""
    if not violation.value:
        return _empty(violation, f"{violation.name} is empty")
    prefixed = f"azureml:{violation.value}"
    local = "/" in violation.value or re.search(r"\.[a-z]{1,5}$", violation.value)
    inline = _inline(violation)
    if _placeholder_hint(violation):
        hint = _placeholder_hint(violation)
    elif local and inline:
        hint = f"for a local file write a mapping: `{violation.at[-1]}: {{{inline}: ...}}`"
    elif any(re.search(pattern, prefixed) for pattern in patterns):
        hint = f"did you mean `{prefixed}`?"
    else:
        hint = "write " + ", or ".join(
            [*grammar, *["the asset itself as a mapping"][: bool(inline)]]
        )
    return violation.diagnostic(
        rules.BAD_REFERENCE, f"{violation.name}: {violation.shown} is not a reference", hint
    )


def empty_list(violation: Violation) -> Diagnostic:
    """Report a list that needs items."""
    return _empty(violation, f"{violation.name} is an empty list")


def too_many(violation: Violation) -> Diagnostic:
    """Report a list or mapping with too many entries."""
    count = len(violation.value)
    message = f"{violation.name} has {count} entries; the most is {violation.wants}"
    return violation.diagnostic(rules.OUT_OF_BOUNDS, message, violation.schema.get("description"))


def repeated_item(violation: Violation) -> Diagnostic:
    """Report a repeated item in a list, at its second occurrence."""
    items = violation.value
    at = next(i for i, item in enumerate(items) if item in items[:i])
    message = f"{violation.name} has {shown(items[at])} twice"
    place = violation.document.label((*violation.at, at))
    return Diagnostic(rules.VALUE_NOT_ALLOWED, message, place, "remove one of them")


def _placeholder_hint(violation: Violation) -> str | None:
    """Return a hint about a text that should have been replaced by a value."""
    text = placeholder(violation.value) if isinstance(violation.value, str) else None
    if text is None or violation.secret:
        return None
    return f"`{text}` looks like a placeholder that was not replaced: write the value"


def _inline(violation: Violation) -> str | None:
    """Return the field of the asset that takes a path, if the asset may be inline here."""
    for branch in violation.outer.get("anyOf", []):
        for name, schema in branch.get("properties", {}).items():
            if schema.get("x-mlctl-path"):
                return str(name)
    return None


def _empty(violation: Violation, message: str) -> Diagnostic:
    return violation.diagnostic(rules.EMPTY_VALUE, message, "give it a value, or remove the key")


def _type_hint(violation: Violation, types: list[str]) -> str | None:
    value, written = (
        violation.value,
        None if violation.secret else violation.document.written(violation.at),
    )
    if isinstance(value, str):
        return _unquoted_hint(violation, types)
    if isinstance(value, dict) and "string" in types and not violation.secret:
        text = value.get("local_path") or value.get("target")
        if isinstance(text, str):
            return f"a 2021 preview form; write `{violation.at[-1]}: {text}`"
    if "string" in types and isinstance(value, bool | int | float):
        read = json.dumps(value)
        remark = f"YAML reads `{written}` as {read}; " if written not in (None, read) else ""
        return f'{remark}quote it: "{written}"' if written is not None else "quote it"
    if "integer" in types and isinstance(value, bool) and written not in ("true", "false"):
        return f"YAML reads `{written}` as {json.dumps(value)}"
    return _for_example(violation)


def _for_example(violation: Violation) -> str | None:
    line = example(str(violation.at[-1]), violation.schema) if violation.at else None
    return f"for example `{line}`" if line else violation.schema.get("description")


def _unquoted_hint(violation: Violation, types: list[str]) -> str | None:
    """Return a hint on what to write instead of a text."""
    text = violation.value.strip()
    if violation.schema.get("x-mlctl-codec") == "duration" and seconds(text) is not None:
        return f"write {seconds(text)}: the unit is seconds"
    required = violation.schema.get("required", [])
    if "object" in types and len(required) == 1 and not violation.secret:
        return f"write `{required[0]}: {text}`"
    return _for_example(violation)


def breach(name: str, schema: Schema) -> str:
    """Return the rule that a name breaks: its length, a character, its first, its last."""
    if not name:
        return "it is empty"
    least, longest = schema.get("minLength", 0), schema.get("maxLength", len(name))
    if not least <= len(name) <= longest:
        bound = f"at most {longest}" if len(name) > longest else f"at least {least}"
        return f"it is {len(name)} long, {bound} characters are allowed"
    pattern = schema.get("pattern", "")
    wrong = next((letter for letter in name if not re.search(pattern, f"a{letter}a")), None)
    if wrong is not None:
        return f"`{wrong}` is not allowed in it"
    if not re.search(pattern, f"{name[0]}aa"):
        return f"it starts with `{name[0]}`"
    tail = name[name.rfind("-") :]
    return f"it ends with `{tail}`" if not re.search(pattern, f"aa{tail}") else "it has `--`"


def types(branch: Schema) -> list[str]:
    """Return the types that a schema names; none if it accepts any."""
    names = branch.get("type", [])
    return [names] if isinstance(names, str) else list(names)


def fits(violation: Violation, branch: Schema) -> bool:
    """Whether the value has one of an alternative's types; no types are all types."""
    return not types(branch) or any(is_a(violation.value, type_name) for type_name in types(branch))
