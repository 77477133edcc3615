"""Values: of a wrong type, not among the words, out of bounds, empty; bad names and references."""

from __future__ import annotations

import json
import re

from mlctl.diagnostics import Diagnostic
from mlctl.schema import rules
from mlctl.schema.text import (
    enumerated,
    example,
    is_a,
    listed,
    nearest,
    seconds,
    typed,
)
from mlctl.schema.violation import Fault

# What pipelines and templates replace: `${{ x }}`, `{{ x }}`, `$(x)`, `${x}`, `#{x}#`, `<x>`.
_PLACEHOLDER = re.compile(
    r"\$?\{\{[^{}]*\}\}|\$\([\w.-]+\)|\$\{[\w.-]+\}|\$[A-Z_]{2,}|#\{[\w.-]+\}#?|<[^<>]+>"
)


def wrong_type(fault: Fault, types: list[str]) -> Diagnostic:
    """The value has none of the types; null is a value that was forgotten."""
    if fault.value is None:
        return _empty(fault, f"{fault.name} has no value")
    given = "text" if fault.secret and isinstance(fault.value, str) else fault.shown
    given = f"the text {given}" if isinstance(fault.value, str) and not fault.secret else given
    return fault.say(
        rules.WRONG_TYPE,
        f"{fault.name} takes {typed(types)}, not {given}",
        _placeholder(fault) or _type_hint(fault, types),
    )


def not_allowed(fault: Fault) -> Diagnostic:
    """The value is none of the words that the field takes."""
    allowed = enumerated(fault.schema)
    retired = fault.schema.get("x-mlctl-retired", {}).get(fault.value)
    near = nearest(fault.value, allowed)
    hint = retired or (f"did you mean `{near}`?" if near else f"write {listed(allowed)}")
    message = f"{fault.name} does not take {fault.shown}"
    return fault.say(rules.VALUE_NOT_ALLOWED, message, _placeholder(fault) or hint)


def out_of_bounds(fault: Fault, bound: str) -> Diagnostic:
    """A number is below the least or above the most."""
    message = f"{fault.name} is {fault.value}; the {bound} is {fault.wants}"
    return fault.say(rules.OUT_OF_BOUNDS, message, fault.schema.get("description"))


def bad_text(fault: Fault) -> Diagnostic:
    """A text of the wrong length or form: empty, a bad name, a bad reference, or something else."""
    if not fault.value:
        return _empty(fault, f"{fault.name} is empty")
    rule = fault.schema.get("x-mlctl-name")
    if rule:
        message = f"{fault.shown} is no valid name: {_breach(fault)}"
        return fault.say(rules.BAD_NAME, message, _placeholder(fault) or str(rule))
    if "x-mlctl-reference" in fault.schema:
        return bad_reference(fault, [str(fault.schema["x-mlctl-reference"])], [])
    return fault.say(
        rules.VALUE_NOT_ALLOWED,
        f"{fault.name} does not take {fault.shown}",
        _placeholder(fault) or fault.schema.get("description"),
    )


def bad_reference(fault: Fault, grammar: list[str], patterns: list[str]) -> Diagnostic:
    """A text has none of the forms of a reference."""
    if not fault.value:
        return _empty(fault, f"{fault.name} is empty")
    prefixed = f"azureml:{fault.value}"
    local = "/" in fault.value or re.search(r"\.[a-z]{1,5}$", fault.value)
    inline = _inline(fault)
    if _placeholder(fault):
        hint = _placeholder(fault)
    elif local and inline:
        hint = f"for a local file write a mapping: `{fault.at[-1]}: {{{inline}: ...}}`"
    elif any(re.search(one, prefixed) for one in patterns):
        hint = f"did you mean `{prefixed}`?"
    else:
        hint = "write " + ", or ".join(
            [*grammar, *["the asset itself as a mapping"][: bool(inline)]]
        )
    return fault.say(rules.BAD_REFERENCE, f"{fault.name}: {fault.shown} is no reference", hint)


def empty_list(fault: Fault) -> Diagnostic:
    """A list needs items and has none."""
    return _empty(fault, f"{fault.name} is an empty list")


def _placeholder(fault: Fault) -> str | None:
    """What to do about a text that was to be replaced by a value, and was not."""
    found = _PLACEHOLDER.search(fault.value) if isinstance(fault.value, str) else None
    if found is None or fault.secret:
        return None
    return f"`{found[0]}` looks like a placeholder that nothing has replaced: put the value there"


def _inline(fault: Fault) -> str | None:
    """The field of the asset itself that takes a path, where the asset may stand here inline."""
    for branch in fault.outer.get("anyOf", []):
        for name, schema in branch.get("properties", {}).items():
            if schema.get("x-mlctl-path"):
                return str(name)
    return None


def _empty(fault: Fault, message: str) -> Diagnostic:
    return fault.say(rules.EMPTY_VALUE, message, "give it a value, or remove the key")


def _type_hint(fault: Fault, types: list[str]) -> str | None:
    value, written = fault.value, None if fault.secret else fault.document.written(fault.at)
    if isinstance(value, str):
        return _unquoted_hint(fault, types)
    if "string" in types and isinstance(value, bool | int | float):
        read = json.dumps(value)
        seen = f"YAML reads `{written}` as {read}; " if written not in (None, read) else ""
        return f'{seen}quote it: "{written}"' if written is not None else "quote it"
    if "integer" in types and isinstance(value, float):
        return f"write {int(value)} or {int(value) + 1}"
    if "integer" in types and isinstance(value, bool) and written not in ("true", "false"):
        return f"YAML reads `{written}` as {json.dumps(value)}"
    return _for_example(fault)


def _for_example(fault: Fault) -> str | None:
    line = example(str(fault.at[-1]), fault.schema) if fault.at else None
    return f"for example `{line}`" if line else fault.schema.get("description")


def _unquoted_hint(fault: Fault, types: list[str]) -> str | None:
    """What to write in place of a text."""
    text = fault.value.strip()
    if "integer" in types and re.fullmatch(r"[+-]?\d+", text):
        return f"write {int(text)} without quotes"
    if fault.schema.get("x-mlctl-codec") == "duration" and seconds(text) is not None:
        return f"write {seconds(text)}: the unit is seconds"
    if "boolean" in types and text.casefold() in ("true", "false", "yes", "no", "on", "off"):
        truth = json.dumps(text.casefold() in ("true", "yes", "on"))
        return f"write {truth} without quotes"
    required = fault.schema.get("required", [])
    if "object" in types and len(required) == 1 and not fault.secret:
        return f"write `{required[0]}: {text}`"
    return _for_example(fault)


def _breach(fault: Fault) -> str:
    """The rule that a name breaks: its length, a character, its first, its last."""
    name, schema = fault.value, fault.schema
    least, most = schema.get("minLength", 0), schema.get("maxLength", len(name))
    if not least <= len(name) <= most:
        bound = f"at most {most}" if len(name) > most else f"at least {least}"
        return f"it is {len(name)} long, {bound} characters are allowed"
    pattern = schema.get("pattern", "")
    wrong = next((one for one in name if not re.search(pattern, f"a{one}a")), None)
    if wrong is not None:
        return f"`{wrong}` is not allowed in it"
    if not re.search(pattern, f"{name[0]}aa"):
        return f"it starts with `{name[0]}`"
    tail = name[name.rfind("-") :]
    return f"it ends with `{tail}`" if not re.search(pattern, f"aa{tail}") else "it has `--`"


def fits(fault: Fault, types: str | list[str] | None) -> bool:
    """Whether the value has one of the types of a branch; no types are all types."""
    return types is None or any(
        is_a(fault.value, one) for one in ([types] if isinstance(types, str) else types)
    )
