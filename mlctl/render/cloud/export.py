"""Live resources exported as YAML that a plan would find unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from textwrap import TextWrapper

from mlctl import catalog, masking, pointer
from mlctl.backends.ports.backend import Live
from mlctl.dataclasses import dataclass, field
from mlctl.kinds import Address, Kind, Scope, codec, kind_of
from mlctl.kinds.field import Absent, Field, Form
from mlctl.kinds.values import applies, form_of_body, own_of_form, stored_values
from mlctl.planning.ownership.owner import PROJECT, SPEC_HASH, TAGS
from mlctl.pointer import Data, Pointer, dotted
from mlctl.schema.key_order import ordered
from mlctl.source import dump

_HOST = "https://azuremlschemas.azureedge.net/latest"
_REGION: Pointer = ("location",)
_PROPERTIES: Pointer = ("properties",)
_ARCHIVED: Pointer = ("is_archived",)
_COMMENT = TextWrapper(98, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
_WAIVED_NAME = "mlctl:ignore=MLC106"
# What a reader wants to see even if it is the default: what nodes cost, and what a resource is.
_SPOKEN = {"size", "tier", "min_instances", "max_instances", "type"}
_OF_SERVICE = re.compile(r"azureml\.|BatchEndpointCreationApiVersion$|client_component_hash$")


@dataclass(eq=False)
class Placeholders:
    """The environment variables that stand for secrets, one per value.

    `values` are those that the workspace returned, None for one that it never returns.
    """

    values: dict[str, str | None] = field(default_factory=dict)

    def name(self, address: Address, at: Pointer, value: str | None) -> str:
        """Return the name of a secret's variable; other values get other names."""
        short = _identifier(str(at[-1]))
        longer = _identifier("_".join(filter(None, (address.parent, address.name, short))))
        free = (candidate for candidate in (short, longer) if self._is_free(candidate, value))
        name = next(free, "")
        number = 2
        while not name:
            numbered = f"{longer}_{number}"
            name = numbered if self._is_free(numbered, value) else ""
            number += 1
        self.values[name] = value
        return name

    def _is_free(self, name: str, value: str | None) -> bool:
        return name not in self.values or (value is not None and self.values[name] == value)


def document(live: Live, scope: Scope, location: str, placeholders: Placeholders) -> str:
    """Return the YAML of a live resource in az's order, with comments about omitted fields.

    Defaults, the workspace's own region `location` and the tags of a project are omitted; secrets
    become `${{ env.NAME }}`.
    """
    kind, address = kind_of(live.address), live.address
    form = form_of_body(kind, live.body, scope)
    values = _values(live, form, scope)
    remarks = [f"Exported from {scope.resource_group}/{scope.workspace}."]
    remarks += _drop_omissible(values, form, scope, location)
    data = pointer.nest({**address.name_fields, **values})
    if kind.form_of(data) is not form:
        data.pop("type", None)  # a flat deployment has none
    for at, secret in _secrets(data, values, form, live.body):
        name = placeholders.name(address, at, secret)
        expression = f"${{{{ env.{name} }}}}"
        text = pointer.get(data, at)
        pointer.put(data, at, text.replace(secret, expression) if secret else expression)
        reason = "" if secret else ", which the workspace does not return"
        remarks.append(f"A secret{reason}: set the environment variable {name}.")
    rule = form.schema["properties"]["name"]
    is_long = len(address.name) > rule.get("maxLength", len(address.name))
    if is_long or re.search(rule.get("pattern", ""), address.name) is None:
        remarks += ["The service accepted this name, although tools refuse it:", _WAIVED_NAME]
    head = {"$schema": f"{_HOST}/{_schema_name(kind, form)}.schema.json"}
    whole = data | head  # whatever the resource itself calls its schema
    comments = "".join(
        f"# {line}\n"
        for remark in remarks
        for line in ([remark] if len(remark) <= _COMMENT.width else _COMMENT.wrap(remark))
    )
    return comments + dump(ordered(whole, kind.schema))


def _values(live: Live, form: Form, scope: Scope) -> dict[Pointer, Data]:
    """Return a live resource's own values, without the tags of a project."""
    body = pointer.without(live.body, own_of_form(kind_of(live.address), form))
    values = stored_values(body, form, scope, with_service_fields=False)
    if isinstance(values.get(TAGS), dict):
        values[TAGS] = {
            key: tag for key, tag in values[TAGS].items() if key not in (PROJECT, SPEC_HASH)
        }
    return values


def _drop_omissible(
    values: dict[Pointer, Data], form: Form, scope: Scope, location: str
) -> Iterator[str]:
    """Drop the values that a file can omit; yield remarks for the reader."""
    defaults = [
        leaf
        for leaf in _dispensable(form)
        if leaf.at in values and not codec.differ(values[leaf.at], leaf.default, leaf, scope)
    ]
    ignored = [
        leaf
        for leaf in form.fields
        if leaf.when and leaf.at in values and not applies(leaf, values, form)
    ]
    for leaf in (*defaults, *ignored):
        values.pop(leaf.at, None)
    absent = list(_drop_generated(values))
    silent = [
        leaf.at for leaf in form.fields if leaf.at in values and _says_nothing(leaf, values, form)
    ]
    for at in silent:
        del values[at]
    if catalog.region(values.get(_REGION)) == catalog.region(location):
        del values[_REGION]
        yield "Omitted, as it is the workspace's: location."
    if defaults:
        names = ", ".join(dotted(leaf.at) for leaf in defaults)
        yield f"Omitted, as they are the defaults: {names}."
    if absent:
        yield f"Omitted, as the service sets them: {', '.join(absent)}."


def _schema_name(kind: Kind, form: Form) -> str:
    """Return the name of the document's schema: its form's, if the kind has several."""
    names = (form.name, f"{form.name}{kind.name.capitalize()}")
    return next((name for name in names if name in kind.documents), kind.documents[0])


@cache
def _dispensable(form: Form) -> tuple[Field, ...]:
    """Return the fields with defaults that can be omitted: no reader or field needs them."""
    steering = {name for leaf in form.fields for name in leaf.when}
    return tuple(
        leaf
        for leaf in form.with_default
        if leaf.at[-1] not in steering
        and not (_is_required(leaf, form) or (len(leaf.at) == 1 and leaf.at[0] in _SPOKEN))
    )


def _drop_generated(values: dict[Pointer, Data]) -> Iterator[str]:
    """Drop the properties that the service or azure-ai-ml generates; return their names."""
    properties = values.get(_PROPERTIES)
    if isinstance(properties, dict):
        yield from (dotted((*_PROPERTIES, key)) for key in properties if _OF_SERVICE.match(key))
        values[_PROPERTIES] = {
            key: value for key, value in properties.items() if not _OF_SERVICE.match(key)
        }


def _says_nothing(leaf: Field, values: dict[Pointer, Data], form: Form) -> bool:
    """Whether the value is empty, and omitting it keeps the live one."""
    keeps = leaf.absent is Absent.KEEP and not _is_required(leaf, form)
    value = values[leaf.at]
    return keeps and (value in ({}, [], "") or (leaf.at == _ARCHIVED and value is False))


def _is_required(leaf: Field, form: Form) -> bool:
    return len(leaf.at) == 1 and leaf.at[0] in form.schema.get("required", ())


def _secrets(
    data: dict[str, Data], values: dict[Pointer, Data], form: Form, body: Mapping[str, Data]
) -> Iterator[tuple[Pointer, str | None]]:
    """Find what looks like a secret, and (as None) credentials without a substitute."""
    yield from list(masking.find(data))
    for leaf, marks in form.marked_secrets:
        if any(pointer.get(body, at) == word for at, word in marks.items()):
            yield leaf.at, None
    if form.marked_secrets or not values.keys().isdisjoint(form.credentials):
        return
    for secret in form.secrets:
        if len(secret) > 1 and any(at[:-1] == secret[:-1] for at in values):
            yield secret, None


def _identifier(text: str) -> str:
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_").upper()
    return f"_{name}" if not name or name[0].isdigit() else name
