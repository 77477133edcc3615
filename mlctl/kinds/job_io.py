"""The two spellings of a job's inputs and outputs.

YAML has a value or a mapping for each name; the wire has an object that says which it is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mlctl.kinds import datastore_uri
from mlctl.kinds.address import Scope
from mlctl.kinds.field import Field
from mlctl.pointer import Data

_MODES = {
    "ro_mount": "ReadOnlyMount",
    "rw_mount": "ReadWriteMount",
    "mount": "ReadWriteMount",
    "download": "Download",
    "upload": "Upload",
    "direct": "Direct",
    "eval_mount": "EvalMount",
    "eval_download": "EvalDownload",
}
_WORDS = {wire: word for word, wire in reversed(_MODES.items())}
_KEYS = {"path": "uri", "path_on_compute": "pathOnCompute", "name": "assetName"}
_ASSET = "azureml:"
_MODELS = ("custom_model", "mlflow_model")  # as azure-ai-ml has them (_resolve_job_input)


def encode_inputs(value: Data, _field: Field, scope: Scope) -> Data:
    """Encode a job's inputs; a value becomes text, as the SDK writes it."""
    return map_each(value, partial(_encode_input, scope=scope))


def decode_inputs(value: Data, _field: Field, scope: Scope) -> Data:
    """Decode a job's inputs; a value stays the text that it is on the wire."""
    return map_each(value, partial(decode, sort="jobInputType", scope=scope))


def encode_outputs(value: Data, _field: Field, scope: Scope) -> Data:
    """Encode a job's outputs."""
    return map_each(value, partial(encode, sort="jobOutputType", scope=scope))


def decode_outputs(value: Data, _field: Field, scope: Scope) -> Data:
    """Decode a job's outputs."""
    return map_each(value, partial(decode, sort="jobOutputType", scope=scope))


def with_paths(value: Data, scope: Scope) -> Data:
    """Return inputs or outputs in YAML with canonical datastore paths."""

    def one(entry: Data) -> Data:
        if not (isinstance(entry, dict) and isinstance(entry.get("path"), str)):
            return entry
        return {**entry, "path": datastore_uri.canonical(entry["path"], scope)}

    return map_each(value, one)


def canonical_inputs(value: Data, field: Field, scope: Scope) -> Data:
    """Return the wire form of a job's inputs, without what the service adds."""
    sent = encode_inputs(with_paths(value, scope), field, scope)
    return map_each(sent, partial(_drop_added, mode="ReadOnlyMount"))


def canonical_outputs(value: Data, field: Field, scope: Scope) -> Data:
    """Return the wire form of a job's outputs, without what the service adds."""
    sent = encode_outputs(with_paths(value, scope), field, scope)
    return map_each(sent, partial(_drop_added, mode="ReadWriteMount"))


def _drop_added(port: Data, mode: str) -> Data:
    added = {"mode": mode}
    return {key: item for key, item in port.items() if item != added.get(key)}


def map_each(value: Data, spelt: Callable[[Data], Data]) -> Data:
    """Convert each entry of a mapping; other values stay."""
    return {name: spelt(port) for name, port in value.items()} if isinstance(value, dict) else value


def _encode_input(value: Data, scope: Scope) -> Data:
    if isinstance(value, dict) and "value" not in value:
        return encode(value, "jobInputType", scope)
    literal = value["value"] if isinstance(value, dict) else value
    return {"jobInputType": "literal", "value": str(literal)}


def mode(word: Data) -> Data:
    """Encode a mode."""
    return _MODES.get(str(word).lower(), word)


def word(wire: Data) -> Data:
    """Decode a mode."""
    return _WORDS.get(str(wire), wire)


def encode(value: Data, sort: str, scope: Scope) -> dict[str, Data]:
    """Encode one mapping; the uploader sets the datastore of local files."""
    declared = value if isinstance(value, dict) else {}
    body: dict[str, Data] = {sort: str(declared.get("type", "uri_folder")).lower()}
    for key, wire in _KEYS.items():
        if declared.get(key) is not None:
            body[wire] = declared[key]
    if "uri" in body:
        body["uri"] = _resolve_asset(
            body["uri"], scope, "models" if body[sort] in _MODELS else "data"
        )
    if declared.get("version") is not None:
        body["assetVersion"] = str(declared["version"])
    if declared.get("mode") is not None:
        body["mode"] = mode(declared["mode"])
    return body


def decode(value: Data, sort: str, scope: Scope) -> Data:
    """Decode one mapping, or the value that it represents."""
    if not isinstance(value, dict):
        return value
    if value.get(sort) == "literal":
        return value.get("value")
    decoded: dict[str, Data] = {"type": value.get(sort)}
    wires = {**_KEYS, "version": "assetVersion"}
    decoded |= {key: value[wire] for key, wire in wires.items() if value.get(wire) is not None}
    if "path" in decoded:
        decoded["path"] = _shorten_path(str(decoded["path"]), scope)
    if value.get("mode") is not None:
        decoded["mode"] = word(value["mode"])
    return decoded


def _resolve_asset(path: Data, scope: Scope, collection: str) -> Data:
    """Return a registered asset's ARM id; other paths stay as they are."""
    name, colon, version = str(path).removeprefix(_ASSET).partition(":")
    if not str(path).startswith(_ASSET) or name.startswith("/") or not (name and colon and version):
        return path
    return f"{scope.id}/{collection}/{name}/versions/{version}"


def _shorten_path(path: str, scope: Scope) -> str:
    collection, _, asset = path.removeprefix(f"{scope.id}/").partition("/")
    name, slash, version = asset.partition("/versions/")
    is_own = collection in ("data", "models") and slash
    return f"{_ASSET}{name}:{version}" if is_own else path
