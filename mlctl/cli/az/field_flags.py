"""The flags that give a field its value: a flag is a pointer to a field of the kind's schema.

What such a flag means, takes and stands for when absent is read off the schema. The names, short
forms and groups are az's: docs-ref-autogen/latest/ml of MicrosoftDocs/azure-docs-cli.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mlctl import pointer, schema
from mlctl.cli.az.overlay import Value
from mlctl.cli.parser.arguments import UsageError
from mlctl.cli.parser.flags import option, words_of
from mlctl.cli.parser.tree import ARGUMENTS, SWITCH
from mlctl.cli.parser.values import coerce, fits, inside
from mlctl.kinds import Kind
from mlctl.pointer import Data, Pointer
from mlctl.schema import Schema
from mlctl.schema.text import enumerated

_CLUSTER = "AmlCompute Arguments"


@dataclass(frozen=True, slots=True)
class Flag:
    """The names of a flag, the field that it gives a value, and its group in help."""

    names: tuple[str, ...]
    at: Pointer
    panel: str = ARGUMENTS

    @property
    def parameter(self) -> str:
        """The name of its parameter."""
        return self.names[0].removeprefix("--").replace("-", "_")


def _flag(names: str, at: str, panel: str = ARGUMENTS) -> Flag:
    return Flag(tuple(names.split()), tuple(at.split(".")), panel)


_SCALE = (
    _flag("--min-instances", "min_instances", _CLUSTER),
    _flag("--max-instances", "max_instances", _CLUSTER),
    _flag("--idle-time-before-scale-down -d", "idle_time_before_scale_down", _CLUSTER),
)
_IDENTITY = (
    _flag("--identity-type", "identity.type"),
    _flag("--user-assigned-identities -i", "identity.user_assigned_identities"),
)
_TAGS = _flag("--tags", "tags")
_DESCRIPTION = _flag("--description", "description")

CREATE: Mapping[str, tuple[Flag, ...]] = {
    "compute": (
        _flag("--type -t", "type"),
        _flag("--size", "size"),
        _DESCRIPTION,
        _TAGS,
        _flag("--ssh-key-value", "ssh_settings.ssh_key_value"),
        _flag("--ssh-public-access-enabled -p", "ssh_public_access_enabled"),
        _flag("--vnet-name", "network_settings.vnet_name"),
        _flag("--subnet", "network_settings.subnet"),
        *_IDENTITY,
        _flag("--enable-node-public-ip", "enable_node_public_ip"),
        _flag("--tier", "tier", _CLUSTER),
        *_SCALE,
        _flag("--location -l", "location", _CLUSTER),
        _flag("--admin-username", "ssh_settings.admin_username", _CLUSTER),
        _flag("--admin-password", "ssh_settings.admin_password", _CLUSTER),
    ),
    "batch-endpoint": (),
    "batch-deployment": (),
    "model": (
        _flag("--path -p", "path"),
        _flag("--type -t", "type"),
        _flag("--stage -s", "stage"),
        _DESCRIPTION,
        _TAGS,
        _flag("--datastore", "datastore"),
    ),
    "environment": (
        _flag("--image -i", "image"),
        _flag("--conda-file -c", "conda_file"),
        _flag("--build-context -b", "build.path"),
        _flag("--dockerfile-path -d", "build.dockerfile_path"),
        _flag("--os-type", "os_type"),
        _DESCRIPTION,
        _TAGS,
        _flag("--datastore", "datastore"),
    ),
    "batch-pool": (
        _flag("--vm-count", "vm_count"),
        _flag("--swagger-url", "swagger_url"),
        _DESCRIPTION,
        _TAGS,
    ),
}
UPDATE: Mapping[str, tuple[Flag, ...]] = {
    "compute": (*_SCALE, _TAGS, *_IDENTITY),
    "batch-endpoint": (_flag("--defaults", "defaults"),),
    "batch-deployment": (),
    "model": (_flag("--stage -s", "stage"),),
    "environment": (),
    "batch-pool": (_flag("--vm-count", "vm_count"), _TAGS),
}
# Flags without which az asks for a file.
WITHOUT_FILE: Mapping[str, tuple[str, ...]] = {"compute": ("name", "type")}
# Where a list of objects is given by one key of each.
_LISTED_BY = {"user_assigned_identities": "resource_id"}


def parameters(flags: Iterable[Flag], kind: Kind, *, defaults: bool) -> Iterator[inspect.Parameter]:
    """The parameters of flags, with help from the schema of the kind.

    `defaults` says that silence means the default; where it means "as it is", none is named.
    """
    for flag in flags:
        field = field_of(kind, flag.at)
        yield option(
            flag.parameter,
            *flag.names,
            kind=list[str] | None if _many(field) else str | None,
            help=" ".join(_help(field, defaults=defaults)),
            metavar=_metavar(field),
            panel=flag.panel,
            words=enumerated(field),
        )


def values(flags: Iterable[Flag], given: Mapping[str, Any], kind: Kind) -> Iterator[Value]:
    """The values that the flags of a command line give to fields.

    Raises:
        UsageError: a value cannot be one of the field's.
    """
    for flag in flags:
        typed = given.get(flag.parameter)
        if typed is not None:
            yield from _values(flag, typed, field_of(kind, flag.at))


def field_of(kind: Kind, at: Pointer) -> Schema:
    """The schema of a field; of the last form, where a kind has several.

    Raises:
        KeyError: there is no such field.
    """
    *_, (_, form) = schema.forms(schema.resolved(kind.schema))
    for step in at:
        found = inside(form, str(step))
        if found is None:
            raise KeyError(pointer.dotted(at))
        form = found
    return form


def _values(flag: Flag, typed: Any, field: Schema) -> Iterator[Value]:
    if not _many(field):
        yield _value(flag, flag.at, typed, field, typed)
        return
    words, text = words_of(typed), " ".join(words_of(typed))
    if field.get("type") == "array":
        key = _LISTED_BY[str(flag.at[-1])]
        yield Value(flag.at, [{key: word} for word in words], flag.names[0], text)
        return
    pairs = dict(word.partition("=")[::2] for word in words)
    if "properties" not in field:
        yield Value(flag.at, pairs, flag.names[0], text or '""')
        return
    for key, word in pairs.items():
        below = inside(field, key)
        if below is None:
            known = ", ".join(field["properties"])
            raise UsageError(f"argument {flag.names[0]}: there is no `{key}`; there is: {known}.")
        yield _value(flag, (*flag.at, key), word, below, f"{key}={word}")


def _value(flag: Flag, at: Pointer, word: str, field: Schema, text: str) -> Value:
    data = coerce(word, field, switch=True)
    if not fits(data, field):
        allowed = ", ".join(enumerated(field)) or {"boolean": "true, false"}.get(str(field["type"]))
        told = f"Allowed values: {allowed}." if allowed else f"It takes {_noun(field)}."
        raise UsageError(f"'{word}' is not a valid value for '{'/'.join(flag.names)}'. {told}")
    return Value(at, data, flag.names[0], "***" if field.get("x-ms-secret") else text)


def _noun(field: Schema) -> str:
    return {"integer": "a whole number", "number": "a number"}.get(str(field.get("type")), "text")


def _many(field: Schema) -> bool:
    return field.get("type") in ("array", "object")


def _metavar(field: Schema) -> str | None:
    match field.get("type"):
        case "boolean":
            return SWITCH
        case "object":
            return "KEY=VALUE ..."
        case "array":
            return "ID ..."
        case _:
            return None


def _help(field: Schema, *, defaults: bool) -> Iterator[str]:
    yield str(field.get("description", ""))
    many = {"object": "Space-separated key=value pairs.", "array": "Space-separated."}
    if _many(field):
        yield many[field["type"]]
    words: Sequence[Data] = enumerated(field)
    if words:
        yield f"Allowed values: {', '.join(map(str, words))}."
    if defaults and "default" in field:
        value = field["default"]
        yield f"Default: {str(value).lower() if isinstance(value, bool) else value}."
