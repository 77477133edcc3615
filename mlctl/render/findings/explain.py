"""The pages of `mlctl explain` about rules, kinds and fields, from the rules and the schemas."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from textwrap import fill, indent

from mlctl import pointer, schema, source
from mlctl.diagnostics import Rule
from mlctl.kinds import DOCUMENTS, Kind
from mlctl.kinds.records.job import KIND as JOB
from mlctl.pointer import Data, Pointer
from mlctl.schema import Schema
from mlctl.schema.text import enumerated, example, listed, nearest, typed, with_article

_WIDTH = 88
_TELLING = 12  # letters of an error that identify it
_LARGEST = 2**31 - 1  # bounds that only reflect REST's int32 are not shown
_IDENTITY = ("name", "endpoint_name", "version")


def explain(word_or_path: str, rules: Iterable[Rule]) -> str:
    """Return the page about a rule, a kind, or a field (`kind.field.field`).

    A rule is found by its code, its name, or the words of Azure's error for the same cause.

    Raises:
        ValueError: nothing has that name; the message suggests similar ones.
    """
    rules = tuple(rules)
    by_word = {word: rule for rule in rules for word in (rule.code, rule.name)}
    for word, rule in by_word.items():
        if word.casefold() == word_or_path.casefold():
            return _explain_rule(rule.documented())
    head, *below = word_or_path.split(".")
    kind = next((kind for kind in DOCUMENTS.values() if head in (kind.name, *kind.documents)), None)
    if kind is None and (of_error := _rule_of_error(word_or_path, rules)):
        return _explain_rule(of_error)
    if kind is None:
        near = nearest(head, [*DOCUMENTS, *by_word])
        hint = f"did you mean `{near}`?" if near else f"the kinds are {listed(DOCUMENTS, 'and')}"
        raise ValueError(f"`{head}` is neither a rule nor a kind: {hint}")
    return _explain_field(kind, tuple(below)) if below else _explain_kind(kind)


def _rule_of_error(text: str, rules: Iterable[Rule]) -> Rule | None:
    """Find the rule for an error of Azure, by its code or words of its message."""
    text = text.casefold()
    for rule in (rule.documented() for rule in rules):
        for words in map(str.casefold, rule.azure):
            if words in text or (len(text) >= _TELLING and text in words):
                return rule
    return None


def _explain_rule(rule: Rule) -> str:
    """Describe a rule: what it finds, why it matters, what to do."""
    waive = f"`# mlctl:ignore={rule.code}` at the line, or `--ignore {rule.code}`."
    parts = [
        f"{rule.code} {rule.name} ({rule.severity.value})",
        _paragraph(f"Finds {rule.summary}."),
        f"Why\n{_paragraph(rule.why, 2)}",
        f"What to do\n{_paragraph(rule.fix, 2)}",
        f"Waive it\n{_paragraph(waive, 2)}" if not rule.code.startswith("MLC0") else "",
        f"Azure's words\n{_paragraph('; '.join(rule.azure), 2)}" if rule.azure else "",
        f"Source\n{_paragraph(rule.origin, 2)}" if rule.origin else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _explain_kind(kind: Kind) -> str:
    """Describe a kind: what it is, its fields in every form, an example."""
    root = schema.resolved(kind.schema)
    forms = [form for _, form in schema.forms(root)]
    parts = [f"{kind.name}: {root['title'].lower()}", _paragraph(root["description"])]
    for form in forms:
        head = f"Fields with {_form_name(form)}" if len(forms) > 1 else "Fields"
        parts.append(f"{head}\n" + _table(_rows(form, kind)))
    returned = [name for name, inner in properties(forms[0]) if _read_only(inner)]
    ignored = f"The service sets {listed(returned, 'and')}; in a file they are ignored."
    examples = [indent(source.dump(value), "  ").rstrip("\n") for value in root.get("examples", ())]
    parts += [_paragraph(ignored), *(f"For example\n{text}" for text in examples)]
    parts.append(f"`mlctl explain {kind.name}.FIELD` says more about a field.")
    return "\n\n".join(parts) + "\n"


def _explain_field(kind: Kind, at: Pointer) -> str:
    """A field: what it means and takes, its default, what a change does, its name on the wire."""
    forms = [form for _, form in schema.forms(schema.resolved(kind.schema))]
    having = [(form, level) for form in forms if (level := _find(form, at)) is not None]
    if not having:
        raise ValueError(_unknown(kind, forms, at))
    parts = [f"{kind.name}.{pointer.dotted(at)}"]
    for level in _distinct(each_level for _, each_level in having):
        matching = [form for form, other_level in having if other_level == level]
        facts = list(_facts(kind, matching[0], at, level))
        if len(forms) > 1:
            facts.append(("forms", "; ".join(_form_name(form) for form in matching)))
            facts += _find_in_other_forms(forms, level, [form for form, _ in having])
        parts += [_paragraph(level.get("description", "")), _table(facts)]
        inner = list(_rows(level, kind, owned="x-mlctl-wire" in level))
        parts += ["Fields\n" + _table(inner)] if inner else []
    return "\n\n".join(parts) + "\n"


def _distinct(schemas: Iterable[Schema]) -> list[Schema]:
    distinct: list[Schema] = []
    for level in schemas:
        distinct += [] if level in distinct else [level]
    return distinct


def _find(part: Schema, at: Pointer) -> Schema | None:
    """Find the schema at `at`, including inside an inline asset or a list item."""
    if not at:
        return part
    name, *below = at
    for level in (part, *part.get("anyOf", ()), part.get("items", {})):
        inner = level.get("properties", {}).get(name)
        if inner is not None:
            return _find(inner, tuple(below))
    return None


def _unknown(kind: Kind, forms: list[Schema], at: Pointer) -> str:
    above = [level for form in forms if (level := _find(form, at[:-1])) is not None]
    names = {name for level in above for name, _ in properties(level)}
    near = nearest(str(at[-1]), sorted(names))
    path = pointer.dotted((*at[:-1], near)) if near else ""
    hint = f"did you mean `{kind.name}.{path}`?" if near else f"see `mlctl explain {kind.name}`"
    return f"{with_article(kind.name)} has no field `{pointer.dotted(at)}`: {hint}"


def properties(part: Schema) -> Iterator[tuple[str, Schema]]:
    """Return the keys of an object, or of a list's items, with their schemas."""
    for level in (part, *part.get("anyOf", ()), part.get("items", {})):
        yield from level.get("properties", {}).items()


def _read_only(level: Schema) -> bool:
    return bool(level.get("readOnly"))


def _rows(
    part: Schema, kind: Kind, above: Pointer = (), *, owned: bool = False
) -> Iterator[tuple[str, str]]:
    """Return a row per field that a file can set; `owned` if they are part of a field above."""
    required = {*part.get("required", ()), *part.get("items", {}).get("required", ())}
    for name, inner in properties(part):
        if _read_only(inner) or name == "$schema":
            continue
        at = (*above, name)
        remarks = [_describe_values(inner), *["required"][: name in required]]
        if "x-mlctl-alias" in inner:
            remarks.append(f"stands for `{_main(inner)}`")
        else:
            remarks += [f"default {_plain(inner['default'])}"] if "default" in inner else []
            remarks += [_change(kind, at, inner)] if "x-mlctl-wire" in inner and not owned else []
        yield pointer.dotted(at), "; ".join(remarks)
        if "x-mlctl-wire" not in inner:
            yield from _rows(inner, kind, at, owned=owned)


def _facts(kind: Kind, form: Schema, at: Pointer, level: Schema) -> Iterator[tuple[str, str]]:
    owner = _owner(form, at)
    yield "takes", _describe_values(level)
    grammar = [
        branch["x-mlctl-reference"] for branch in _branches(level) if "x-mlctl-reference" in branch
    ]
    if grammar:
        yield "written as", ", or ".join(grammar)
    if "x-mlctl-name" in level:
        yield "rule", level["x-mlctl-name"]
    if "x-mlctl-alias" in level:
        yield "stands for", f"`{_main(level)}`, if its mapping is absent"
    elif "default" in level:
        yield "default", _plain(level["default"])
    yield "a change", f"is one of `{owner}`" if owner else _change(kind, at, level)
    if level.get("x-ms-secret"):
        yield "secret", "never printed; the service never returns it"
    if "x-mlctl-wire" in level and not owner:
        path = pointer.dotted(pointer.parse(level["x-mlctl-wire"]))
        words: Mapping[str, str | None] = level.get("x-mlctl-enum", {})
        spelt = ", ".join(f"{word} is {wire or 'left out'}" for word, wire in words.items())
        yield "on the wire", f"{path} ({spelt})" if spelt else path
    line = example(str(at[-1]), level)
    if line:
        yield "for example", line


def _owner(form: Schema, at: Pointer) -> str | None:
    """Return the field above that this one is only a part of: a subnet, an inline model."""
    for end in range(1, len(at)):
        if "x-mlctl-wire" in (_find(form, at[:end]) or {}):
            return pointer.dotted(at[:end])
    return None


def _branches(level: Schema) -> Iterator[Schema]:
    yield level
    for branch in level.get("anyOf", ()):
        yield from _branches(branch)


def _describe_values(level: Schema) -> str:
    """Return the type, the words or the bounds of a field."""
    words = enumerated(level)
    if words:
        return listed(words) + ", in any letter case"
    text = typed(_types(level)) if _types(level) else "anything"
    least, maximum = level.get("minimum"), level.get("maximum")
    if maximum is not None and maximum < _LARGEST:
        return f"{text} from {least} to {maximum}"
    return text if least is None else f"{text}, {least} or more"


def _types(level: Schema) -> list[str]:
    """Return the types that a field accepts, in order."""
    types = level.get("type")
    if types is None:
        types = [name for branch in level.get("anyOf", ()) for name in _types(branch) or ["string"]]
    return list(dict.fromkeys([types] if isinstance(types, str) else types))


_OVERWRITTEN = "in place, as az does; with blue-green in another deployment"


def _change(kind: Kind, at: Pointer, level: Schema) -> str:
    if at[-1] in _IDENTITY and len(at) == 1:
        return "makes it another resource"
    if _read_only(level):
        return "is set by the service: ignored in files"
    if "x-mlctl-wire" not in level:
        return "see its fields" if "properties" in level else "is not sent to the service"
    if "update" in level.get("x-ms-mutability", ["update"]):
        return "only adds" if level.get("x-mlctl-additive") else "in place"
    if kind is JOB:
        return "fixed at submission"
    fixed = "needs a new version" if kind.versioned else "forces replacement"
    return _OVERWRITTEN if "x-mlctl-overwritten" in level else fixed


def _main(alias: Schema) -> str:
    return pointer.dotted(pointer.parse(alias["x-mlctl-alias"]))


def _form_name(form: Schema) -> str:
    types = enumerated(form["properties"].get("type", {}))
    return f"`type: {types[0]}`" if len(types) == 1 else "no `type`"


def _find_in_other_forms(
    forms: list[Schema], level: Schema, having: list[Schema]
) -> Iterator[tuple[str, str]]:
    """Find where other forms have what goes to the same place on the wire."""
    for form in forms:
        if "x-mlctl-wire" in level and not any(form is having_form for having_form in having):
            for at, other_schema in _all_levels(form):
                if other_schema.get("x-mlctl-wire") == level["x-mlctl-wire"]:
                    yield "elsewhere", f"`{pointer.dotted(at)}` with {_form_name(form)}"


def _all_levels(part: Schema, at: Pointer = ()) -> Iterator[tuple[Pointer, Schema]]:
    for name, inner in part.get("properties", {}).items():
        yield (*at, name), inner
        yield from _all_levels(inner, (*at, name))


def _plain(value: Data) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _table(rows: Iterable[tuple[str, str]]) -> str:
    entries = list(rows)
    width = max((len(name) for name, _ in entries), default=0) + 4
    return "\n".join(
        fill(text, _WIDTH, initial_indent=f"  {name}".ljust(width), subsequent_indent=" " * width)
        for name, text in entries
    )


def _paragraph(text: str, indent: int = 0) -> str:
    pad = " " * indent
    return "\n\n".join(
        fill(part, _WIDTH, initial_indent=pad, subsequent_indent=pad, break_on_hyphens=False)
        for part in text.split("\n\n")
    )
