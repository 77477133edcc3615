"""The pages of `mlctl explain` about rules, kinds and fields, from the rules and the schemas."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from textwrap import fill

from mlctl import pointer, schema, source
from mlctl.diagnostics import Rule
from mlctl.kinds import DOCUMENTS, JOB, Kind
from mlctl.pointer import Data, Pointer
from mlctl.schema import Schema
from mlctl.schema.text import enumerated, example, listed, nearest, typed, with_article

_WIDTH = 88
_LARGEST = 2**31 - 1  # what fits into REST's int32 is no bound to tell people of
_IDENTITY = ("name", "endpoint_name", "version")


def explain(what: str, rules: Iterable[Rule]) -> str:
    """The page about `what`: the code or name of a rule, a kind, or a field as `kind.field.field`.

    Raises:
        ValueError: there is no such thing; the message says what is near.
    """
    by_word = {word: one for one in rules for word in (one.code, one.name)}
    for word, found in by_word.items():
        if word.casefold() == what.casefold():
            return rule(found)
    head, *below = what.split(".")
    named = next((one for one in DOCUMENTS.values() if head in (one.name, *one.documents)), None)
    if named is None:
        near = nearest(head, [*DOCUMENTS, *by_word])
        hint = f"did you mean `{near}`?" if near else f"the kinds are {listed(DOCUMENTS, 'and')}"
        raise ValueError(f"`{head}` is neither a rule nor a kind: {hint}")
    return field(named, tuple(below)) if below else kind(named)


def rule(one: Rule) -> str:
    """A rule: what it finds, why it matters, what to do."""
    waive = f"`# mlctl:ignore={one.code}` at the line, or `--ignore {one.code}`."
    parts = [
        f"{one.code} {one.name} ({one.severity.value})",
        _paragraph(f"Finds {one.summary}."),
        f"Why\n{_paragraph(one.why, 2)}",
        f"What to do\n{_paragraph(one.fix, 2)}",
        f"Waive it\n{_paragraph(waive, 2)}" if not one.code.startswith("MLC0") else "",
        f"Source\n{_paragraph(one.origin, 2)}" if one.origin else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def kind(one: Kind) -> str:
    """A kind: what it is, its fields in every form, an example."""
    root = schema.resolved(one.schema)
    forms = [form for _, form in schema.forms(root)]
    parts = [f"{one.name}: {root['title'].lower()}", _paragraph(root["description"])]
    for form in forms:
        head = f"Fields with {_form_name(form)}" if len(forms) > 1 else "Fields"
        parts.append(f"{head}\n" + _table(_rows(form, one)))
    returned = [name for name, inner in _properties(forms[0]) if _read_only(inner)]
    ignored = f"The service sets {listed(returned, 'and')}; in a file they are ignored."
    examples = [_indented(source.dump(value), 2) for value in root.get("examples", ())]
    parts += [_paragraph(ignored), *(f"For example\n{text}" for text in examples)]
    parts.append(f"`mlctl explain {one.name}.FIELD` says more about a field.")
    return "\n\n".join(parts) + "\n"


def field(one: Kind, at: Pointer) -> str:
    """A field: what it means, what it takes, its default, what a change does, its name on the wire.

    Raises:
        ValueError: the kind has no such field.
    """
    forms = [form for _, form in schema.forms(schema.resolved(one.schema))]
    having = [(form, found) for form in forms if (found := _find(form, at)) is not None]
    if not having:
        raise ValueError(_unknown(one, forms, at))
    parts = [f"{one.name}.{pointer.dotted(at)}"]
    for found in _distinct(found for _, found in having):
        same = [form for form, other in having if other == found]
        facts = list(_facts(one, same[0], at, found))
        if len(forms) > 1:
            facts.append(("forms", "; ".join(_form_name(form) for form in same)))
            facts += _elsewhere(forms, found, [form for form, _ in having])
        parts += [_paragraph(found.get("description", "")), _table(facts)]
        inner = list(_rows(found, one, owned="x-mlctl-wire" in found))
        parts += ["Fields\n" + _table(inner)] if inner else []
    return "\n\n".join(parts) + "\n"


def _distinct(schemas: Iterable[Schema]) -> list[Schema]:
    kept: list[Schema] = []
    for one in schemas:
        kept += [] if one in kept else [one]
    return kept


def _find(part: Schema, at: Pointer) -> Schema | None:
    """The schema at `at`, also inside an inline asset or an item of a list."""
    if not at:
        return part
    name, *rest = at
    for level in (part, *part.get("anyOf", ()), part.get("items", {})):
        inner = level.get("properties", {}).get(name)
        if inner is not None:
            return _find(inner, tuple(rest))
    return None


def _unknown(one: Kind, forms: list[Schema], at: Pointer) -> str:
    above = [found for form in forms if (found := _find(form, at[:-1])) is not None]
    known = {name for found in above for name, _ in _properties(found)}
    near = nearest(str(at[-1]), sorted(known))
    path = pointer.dotted((*at[:-1], near)) if near else ""
    hint = f"did you mean `{one.name}.{path}`?" if near else f"see `mlctl explain {one.name}`"
    return f"{with_article(one.name)} has no field `{pointer.dotted(at)}`: {hint}"


def _properties(part: Schema) -> Iterator[tuple[str, Schema]]:
    for level in (part, *part.get("anyOf", ()), part.get("items", {})):
        yield from level.get("properties", {}).items()


def _read_only(one: Schema) -> bool:
    return bool(one.get("readOnly"))


def _rows(
    part: Schema, one: Kind, above: Pointer = (), *, owned: bool = False
) -> Iterator[tuple[str, str]]:
    """A row for each field that a file can set; `owned` if they are part of a field above."""
    required = {*part.get("required", ()), *part.get("items", {}).get("required", ())}
    for name, inner in _properties(part):
        if _read_only(inner) or name == "$schema":
            continue
        at = (*above, name)
        said = [_takes(inner), *["required"][: name in required]]
        if "x-mlctl-alias" in inner:
            said.append(f"stands for `{_main(inner)}`")
        else:
            said += [f"default {_plain(inner['default'])}"] if "default" in inner else []
            said += [_change(one, at, inner)] if "x-mlctl-wire" in inner and not owned else []
        yield pointer.dotted(at), "; ".join(said)
        if "x-mlctl-wire" not in inner:
            yield from _rows(inner, one, at, owned=owned)


def _facts(one: Kind, form: Schema, at: Pointer, found: Schema) -> Iterator[tuple[str, str]]:
    owner = _owner(form, at)
    yield "takes", _takes(found)
    grammar = [
        branch["x-mlctl-reference"] for branch in _branches(found) if "x-mlctl-reference" in branch
    ]
    if grammar:
        yield "written as", ", or ".join(grammar)
    if "x-mlctl-name" in found:
        yield "rule", found["x-mlctl-name"]
    if "x-mlctl-alias" in found:
        yield "stands for", f"`{_main(found)}`, where that one's mapping is not written"
    elif "default" in found:
        yield "default", _plain(found["default"])
    yield "a change", f"is one of `{owner}`" if owner else _change(one, at, found)
    if found.get("x-ms-secret"):
        yield "secret", "never printed; the service never returns it"
    if "x-mlctl-wire" in found and not owner:
        yield "on the wire", _wire(found)
    line = example(str(at[-1]), found)
    if line:
        yield "for example", line


def _owner(form: Schema, at: Pointer) -> str | None:
    """The field above that this one is only a part of: a subnet, an inline model."""
    for end in range(1, len(at)):
        if "x-mlctl-wire" in (_find(form, at[:end]) or {}):
            return pointer.dotted(at[:end])
    return None


def _branches(found: Schema) -> Iterator[Schema]:
    yield found
    for branch in found.get("anyOf", ()):
        yield from _branches(branch)


def _takes(found: Schema) -> str:
    """The type, the words or the bounds of a field."""
    words = enumerated(found)
    if words:
        return listed(words) + ", in any letter case"
    said = typed(_types(found)) if _types(found) else "anything"
    least, most = found.get("minimum"), found.get("maximum")
    if most is not None and most < _LARGEST:
        return f"{said} from {least} to {most}"
    return said if least is None else f"{said}, {least} or more"


def _types(found: Schema) -> list[str]:
    """The types that a field takes, in order."""
    named = found.get("type")
    if named is None:
        named = [name for one in found.get("anyOf", ()) for name in _types(one) or ["string"]]
    return list(dict.fromkeys([named] if isinstance(named, str) else named))


def _change(one: Kind, at: Pointer, found: Schema) -> str:
    if at[-1] in _IDENTITY and len(at) == 1:
        return "is another resource"
    if _read_only(found):
        return "is the service's: in a file it is ignored"
    if "x-mlctl-wire" not in found:
        return "see its fields" if "properties" in found else "is not sent to the service"
    if "update" in found.get("x-ms-mutability", ["update"]):
        return "only adds" if found.get("x-mlctl-additive") else "in place"
    if one is JOB:
        return "fixed at submission"
    return "needs a new version" if one.versioned else "forces replacement"


def _wire(found: Schema) -> str:
    path = pointer.dotted(pointer.parse(found["x-mlctl-wire"]))
    words: Mapping[str, str | None] = found.get("x-mlctl-enum", {})
    spelt = ", ".join(f"{word} is {wire or 'left out'}" for word, wire in words.items())
    return f"{path} ({spelt})" if spelt else path


def _main(alias: Schema) -> str:
    return pointer.dotted(pointer.parse(alias["x-mlctl-alias"]))


def _form_name(form: Schema) -> str:
    types = enumerated(form["properties"].get("type", {}))
    return f"`type: {types[0]}`" if len(types) == 1 else "no `type`"


def _elsewhere(
    forms: list[Schema], found: Schema, having: list[Schema]
) -> Iterator[tuple[str, str]]:
    """Where the other forms have what goes to the same place on the wire."""
    for form in forms:
        if "x-mlctl-wire" in found and not any(form is one for one in having):
            for at, other in _all(form):
                if other.get("x-mlctl-wire") == found["x-mlctl-wire"]:
                    yield "elsewhere", f"`{pointer.dotted(at)}` with {_form_name(form)}"


def _all(part: Schema, at: Pointer = ()) -> Iterator[tuple[Pointer, Schema]]:
    for name, inner in part.get("properties", {}).items():
        yield (*at, name), inner
        yield from _all(inner, (*at, name))


def _plain(value: Data) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _table(rows: Iterable[tuple[str, str]]) -> str:
    kept = list(rows)
    width = max((len(name) for name, _ in kept), default=0) + 4
    return "\n".join(
        fill(text, _WIDTH, initial_indent=f"  {name}".ljust(width), subsequent_indent=" " * width)
        for name, text in kept
    )


def _paragraph(text: str, indent: int = 0) -> str:
    pad = " " * indent
    return "\n\n".join(
        fill(part, _WIDTH, initial_indent=pad, subsequent_indent=pad, break_on_hyphens=False)
        for part in text.split("\n\n")
    )


def _indented(text: str, by: int) -> str:
    return "\n".join(" " * by + line for line in text.splitlines())
