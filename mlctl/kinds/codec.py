"""Codecs: the two spellings of a value, YAML and wire, and the canonical form to compare.

`encode` gives the spelling on the wire, `decode` the one in YAML (None is "absent"), `canonical`
what two spellings of the same value have in common. Canonical values are compared, never sent and
never shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import TypeAlias

from mlctl import catalog, source
from mlctl.dataclasses import dataclass, replace
from mlctl.durations import format_iso, parse_iso
from mlctl.kinds import component_io, datastore_uri, online_io
from mlctl.kinds.address import Reference, Scope
from mlctl.kinds.field import Field, bare
from mlctl.kinds.registry import ALL
from mlctl.pointer import Data

_Spell: TypeAlias = Callable[[Data, Field, Scope], Data]


@dataclass(frozen=True, slots=True)
class Codec:
    """Three functions of a value, its field and the workspace."""

    encode: _Spell
    decode: _Spell
    canonical: _Spell


def encode(value: Data, field: Field, scope: Scope) -> Data:
    """Return the wire spelling of a YAML value; None means that nothing is sent."""
    return CODECS[field.codec].encode(value, field, scope)


def decode(value: Data, field: Field, scope: Scope) -> Data:
    """Return the YAML spelling of a wire value; None means absent."""
    if value is None and not field.enum:  # other codecs do not handle null
        return None
    return CODECS[field.codec].decode(value, field, scope)


def canonical(value: Data, field: Field, scope: Scope) -> Data:
    """Return the form that equal values of the field share."""
    return CODECS[field.codec].canonical(value, field, scope)


def differ(left: Data, right: Data, field: Field, scope: Scope) -> bool:
    """Whether two YAML values of the field mean different things; None is absent."""
    if left is None or right is None:
        return not says_nothing(right if left is None else left, field)
    left, right = canonical(left, field, scope), canonical(right, field, scope)
    return bool(left != right) and not (_is_labelled(left, right) or _is_labelled(right, left))


def _is_labelled(text: Data, version_text: Data) -> bool:
    """Whether `text` has labels where `version_text` has the versions that these had once."""
    if not (isinstance(text, str) and isinstance(version_text, str) and "/labels/" in text):
        return False
    parts = re.split(r'(/labels/[^/"]+)', text)
    parts[::2] = map(re.escape, parts[::2])
    parts[1::2] = (rf'(?:{re.escape(label)}|/versions/[^/"]+)' for label in parts[1::2])
    return re.fullmatch("".join(parts), version_text, re.IGNORECASE) is not None


def inner_fields(field: Field, value: Data) -> Iterator[Field]:
    """Find the places in a value of the field that name other resources."""
    match field.codec:
        case "steps":
            from mlctl.kinds import steps  # noqa: PLC0415 - most kinds have none

            return steps.inner_fields(field, value)
        case "data_collector":
            return online_io.data_fields(field, value)
        case _:
            return iter(())


def says_nothing(value: Data, field: Field) -> bool:
    """Whether the value means the same as leaving the field out, if the service has none."""
    match field.codec:
        case "subnet":
            return not (isinstance(value, dict) and value.get("subnet"))
        case "enum":
            return _enum_encode(value, field) in (None, "None")
        case _:
            return value in (None, "", {}, [])


def _same(value: Data, _field: Field, _scope: Scope) -> Data:
    return value


def _number(value: Data, _field: Field, _scope: Scope) -> Data:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _text(value: Data, _field: Field, _scope: Scope) -> Data:
    return "" if value is None else str(value)


def _enum_encode(value: Data, field: Field, _scope: Scope | None = None) -> Data:
    wires = field.wire_by_word
    is_spelling = isinstance(value, str) and value in wires
    return wires.get(value if is_spelling else bare(value), value)


def _enum_decode(value: Data, field: Field, _scope: Scope) -> Data:
    words = field.word_by_wire
    is_spelling = value is None or (isinstance(value, str) and value in words)
    return words.get(value if is_spelling else bare(value), value)


def _duration_decode(value: Data, _field: Field, _scope: Scope) -> Data:
    if not isinstance(value, str):
        return value
    try:
        total = parse_iso(value)
    except ValueError:
        return value
    return int(total) if total.is_integer() else total


def _map(value: Data, _field: Field, _scope: Scope) -> Data:
    if not isinstance(value, dict):
        return value
    return {
        key: inner if isinstance(inner, str) else json.dumps(inner)
        for key, inner in value.items()
        if inner is not None
    }


def is_curated(reference: Reference) -> bool:
    """Whether a reference names an asset that the service provides (`azureml:AzureML-...`)."""
    prefix = (
        ALL[reference.address.kind].content.curated
        if reference.address and reference.scope is None
        else ""
    )
    return bool(prefix and reference.address and reference.address.name.startswith(prefix))


def _reference_encode(value: Data, field: Field, scope: Scope) -> Data:
    reference = Reference.parse(str(value), field.refers_to or "")
    if (
        reference is None
        or reference.address is None
        or (field.refers_to == "compute" and value == "local")
    ):
        return value
    if is_curated(reference):
        return value  # the service finds curated assets by name (recorded)
    if reference.label is not None:
        return f"{reference.address.id(reference.scope or scope)}/labels/{reference.label}"
    return reference.address.id(reference.scope or scope)


def _reference_decode(value: Data, field: Field, scope: Scope) -> Data:
    if not isinstance(value, str) or not value.startswith("/"):
        return value
    reference = Reference.parse(f"azureml:{value}", field.refers_to or "")
    if reference is None or reference.address is None or reference.within(scope).scope is not None:
        return f"azureml:{value}"
    version = f":{reference.address.version}" if reference.address.version is not None else ""
    return f"azureml:{reference.address.name}{version}"


def _reference_canonical(value: Data, field: Field, scope: Scope) -> Data:
    reference = Reference.parse(str(value), field.refers_to or "")
    if reference is None or reference.address is None:
        return str(value)
    version = f"/versions/{reference.address.version}" if reference.address.version else ""
    label = f"/labels/{reference.label}" if reference.label else ""
    return reference.address.at(None).id(reference.scope or scope).casefold() + version + label


def _moment_encode(value: Data, _field: Field, _scope: Scope) -> Data:
    """Format a moment as azure-ai-ml 1.35.2 does: `2026-07-01 10:00:00`, beside its zone."""
    try:
        return datetime.fromisoformat(str(value)).strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return value


def _listed(value: Data, *_: Field | Scope) -> list[Data]:
    return value if isinstance(value, list) else [value]


def _days_encode(value: Data, _field: Field, _scope: Scope) -> Data:
    return [str(day).capitalize() for day in _listed(value)]


def _conda(value: Data, _field: Field, _scope: Scope) -> Data:
    return source.plain(value) if isinstance(value, str) else value


def _job_id_encode(value: Data, _field: Field, scope: Scope) -> Data:
    name = str(value).removeprefix("azureml:")
    return name if name.startswith("/") else f"{scope.id}/jobs/{name}"


def _azureml_id_encode(value: Data, field: Field, scope: Scope) -> Data:
    """Encode a reference as its ARM id after `azureml:`; curated assets keep their label."""
    reference = Reference.parse(str(value), field.refers_to or "")
    if reference is not None and is_curated(reference):
        return value
    sent = _reference_encode(value, field, scope)
    return f"azureml:{sent}" if str(sent).startswith("/") else sent


def _azureml_id_decode(value: Data, field: Field, scope: Scope) -> Data:
    if not isinstance(value, str):
        return value
    arm = value.startswith("azureml:/") and not value.startswith("azureml://")
    return _reference_decode(value.removeprefix("azureml:") if arm else value, field, scope)


def _azureml_id_canonical(value: Data, field: Field, scope: Scope) -> Data:
    """Treat a curated asset as one of a registry (recorded: component-put-create)."""
    reference = Reference.parse(str(value), field.refers_to or "")
    if reference is None or reference.address is None or not is_curated(reference):
        return str(_reference_canonical(value, field, scope)).casefold()
    at = f"labels/{reference.label}" if reference.label else f"versions/{reference.address.version}"
    asset = f"{ALL[reference.address.kind].collection}/{reference.address.name}/{at}"
    return f"azureml://registries/azureml/{asset}".casefold()


def _subnet_encode(value: Data, _field: Field, scope: Scope) -> Data:
    subnet, vnet = value.get("subnet"), value.get("vnet_name")
    if not subnet:
        return None
    if subnet.startswith("/"):
        return {"id": subnet}
    return {
        "id": f"/subscriptions/{scope.subscription}/resourceGroups/{scope.resource_group}"
        f"/providers/Microsoft.Network/virtualNetworks/{vnet}/subnets/{subnet}"
    }


def _subnet_canonical(value: Data, field: Field, scope: Scope) -> Data:
    wire = _subnet_encode(value, field, scope) if isinstance(value, dict) else None
    return wire["id"].casefold() if wire else None


def _upload_canonical(value: Data, _field: Field, scope: Scope) -> Data:
    """Compare uploaded content by the name of its folder, which is its hash.

    The service decides where it is stored. Origin: azure-ai-ml 1.35.2 uploads to
    `LocalUpload/HASH/NAME` of a datastore, and refers to it by `azureml://...` in a model and by
    `https://...` in a build context.
    """
    uploaded = str(value).partition("/LocalUpload/")[2].rstrip("/")
    return uploaded or datastore_uri.canonical(str(value), scope)


def _json_canonical(value: Data, _field: Field, _scope: Scope) -> Data:
    """Compare as JSON text: in Python `true` equals 1, which it does not in JSON."""
    return json.dumps(json.loads(json.dumps(value), parse_float=_whole), sort_keys=True)


def _settings_decode(value: Data, _field: Field, _scope: Scope) -> Data:
    """Decode settings, whose truth values were texts in older SDKs (1.28.1: `"False"`)."""
    if not isinstance(value, dict):
        return value
    return {key: _TRUTHS.get(str(setting).casefold(), setting) for key, setting in value.items()}


def _as_sent(encoded: _Spell) -> _Spell:
    """Canonicalize a value with one spelling on the wire: as that, in JSON."""
    return lambda value, field, scope: _json_canonical(encoded(value, field, scope), field, scope)


def _whole(text: str) -> float:
    number = float(text)
    return int(number) if number.is_integer() else number


def _system_data_decode(value: Data, _field: Field, _scope: Scope) -> Data:
    """Spell `createdAt` as az does: `created_at`, with `+00:00` for `Z`."""
    if not isinstance(value, dict):
        return value
    return {_CAPITAL.sub(r"_\1", key).lower(): _time(entry) for key, entry in value.items()}


def _time(value: Data) -> Data:
    if not isinstance(value, str) or "T" not in value:
        return value
    try:
        return datetime.fromisoformat(value).isoformat()
    except ValueError:
        return value


def _collector_encode(value: Data, field: Field, scope: Scope) -> Data:
    data = replace(field, refers_to="data")

    def named(text: Data) -> Data:
        return None if text is None else _reference_encode(text, data, scope)

    return online_io.encode_collector(value, field, scope, code_reference=named)


def _collector_decode(value: Data, field: Field, scope: Scope) -> Data:
    data = replace(field, refers_to="data")

    def named(text: Data) -> Data:
        return _reference_decode(text, data, scope)

    return online_io.decode_collector(value, field, scope, code_reference=named)


def _collector_canonical(value: Data, field: Field, scope: Scope) -> Data:
    sent = online_io.canonical_collector(_collector_encode(value, field, scope))
    return _json_canonical(sent, field, scope).casefold()


class _Codecs(dict[str, Codec]):
    """Codecs by name; those of jobs and compute instances are imported on demand."""

    def __missing__(self, name: str) -> Codec:
        from mlctl.kinds import instances, job_io, steps, sweeps  # noqa: PLC0415

        spellings: Mapping[str, tuple[_Spell, _Spell]] = {
            **instances.SPELLINGS,
            "search_space": (sweeps.encode_space, sweeps.decode_space),
            "sampling": (sweeps.encode_sampling, sweeps.decode_sampling),
            "early_termination": (sweeps.encode_policy, sweeps.decode_policy),
        }
        rare = {
            **{name: Codec(*pair, _as_sent(pair[0])) for name, pair in spellings.items()},
            "steps": Codec(steps.encode, steps.decode, steps.canonical),
            "inputs": Codec(
                job_io.encode_inputs, job_io.decode_inputs, _as_sent(job_io.canonical_inputs)
            ),
            "outputs": Codec(
                job_io.encode_outputs, job_io.decode_outputs, _as_sent(job_io.canonical_outputs)
            ),
        }
        self |= rare
        return rare[name]


_CAPITAL = re.compile("([A-Z])")
_TRUTHS = {"true": True, "false": False}
CODECS = _Codecs()
CODECS |= {
    "plain": Codec(_number, _number, _number),
    "text": Codec(_same, _same, _text),
    "folded": Codec(_same, _same, lambda value, *_: str(value).casefold()),
    # Type and key: the comment after them means nothing to a server.
    "public_key": Codec(_same, _same, lambda value, *_: " ".join(str(value).split()[:2])),
    "region": Codec(_same, _same, lambda value, *_: catalog.region(value)),
    "enum": Codec(_enum_encode, _enum_decode, lambda value, *_: bare(value)),
    "switch": Codec(
        _enum_encode,
        lambda value, field, scope: _TRUTHS.get(str(_enum_decode(value, field, scope))),
        _same,
    ),
    "duration": Codec(lambda value, *_: format_iso(value), _duration_decode, _number),
    "milliseconds": Codec(online_io.encode_milliseconds, online_io.decode_milliseconds, _number),
    "map": Codec(_map, _map, lambda value, field, scope: _map(value or {}, field, scope)),
    "variables": Codec(_map, _map, online_io.canonical_variables),
    "shares": Codec(online_io.shares, online_io.shares, online_io.canonical_shares),
    "data_collector": Codec(_collector_encode, _collector_decode, _collector_canonical),
    "reference": Codec(_reference_encode, _reference_decode, _reference_canonical),
    "asset": Codec(
        lambda value, *at: {"assetId": _reference_encode(value, *at), "referenceType": "Id"},
        lambda value, *at: (
            _reference_decode(value.get("assetId"), *at) if isinstance(value, dict) else value
        ),
        _reference_canonical,
    ),
    "subnet": Codec(
        _subnet_encode,
        lambda value, *_: (
            {"subnet": value["id"]} if isinstance(value, dict) and value.get("id") else None
        ),
        _subnet_canonical,
    ),
    "identities": Codec(
        lambda value, *_: {identity["resource_id"]: {} for identity in value},
        lambda value, *_: (
            [{"resource_id": name} for name in value] if isinstance(value, dict) and value else None
        ),
        lambda value, *_: sorted(str(item.get("resource_id")).casefold() for item in value or []),
    ),
    "conda": Codec(
        lambda value, *_: value if isinstance(value, str) else source.dump(value), _conda, _conda
    ),
    "upload": Codec(_same, _same, _upload_canonical),
    "json": Codec(_same, _same, _json_canonical),
    "settings": Codec(_same, _settings_decode, _as_sent(_settings_decode)),
    "system_data": Codec(_same, _system_data_decode, _json_canonical),
    "moment": Codec(
        _moment_encode, lambda value, *_: value and str(value).replace(" ", "T", 1), _moment_encode
    ),
    "list": Codec(_listed, _same, _listed),
    "week_days": Codec(
        _days_encode,
        lambda value, *_: value and [str(day).casefold() for day in _listed(value)],
        _days_encode,
    ),
    "job_id": Codec(
        _job_id_encode,
        lambda value, _, scope: value and f"azureml:{str(value).removeprefix(f'{scope.id}/jobs/')}",
        lambda value, *at: str(_job_id_encode(value, *at)).casefold(),
    ),
    # az prints the id of an asset as a reference that a file can use; ids in registries are that.
    "arm_id": Codec(
        _same,
        lambda value, *_: (
            f"azureml:{value.removeprefix('azureml:')}" if isinstance(value, str) else value
        ),
        lambda value, *_: str(value).casefold(),
    ),
    "azureml_id": Codec(_azureml_id_encode, _azureml_id_decode, _azureml_id_canonical),
    "scalar": Codec(_same, component_io.decode_scalar, component_io.canonical_scalar),
    "version": Codec(_text, _same, _text),
    "size": Codec(component_io.encode_size, _same, component_io.encode_size),
    "list_text": Codec(
        component_io.encode_list, component_io.decode_list, component_io.encode_list
    ),
    "texts": Codec(_same, _same, component_io.canonical_texts),
    "ports": Codec(
        component_io.encode_ports, component_io.decode_ports, component_io.canonical_ports
    ),
}
