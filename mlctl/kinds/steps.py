"""The two spellings of a pipeline component's steps, as azure-ai-ml 1.35.2 sends them.

A YAML step names its component (`component`, or `trial` of a sweep); a wire node has its id, and
the keys of YAML except for inputs, outputs and a few words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from mlctl import pointer
from mlctl.dataclasses import replace
from mlctl.durations import format_iso, parse_iso
from mlctl.kinds import component_io, job_io, sweeps
from mlctl.kinds.address import Reference, Scope
from mlctl.kinds.component_hash import ANONYMOUS
from mlctl.kinds.field import Field
from mlctl.pointer import Data, Pointer

SOURCE = "_source"  # the source of a component, which YAML does not have
FILE, INLINE = "YAML.COMPONENT", "YAML.JOB"
_EXPRESSION = re.compile(r"\s*\$\{\{.*\}\}\s*")
_COMPONENT = {"component": ("componentId",), "trial": ("trial", "componentId")}
_DISTRIBUTIONS = {"pytorch": "PyTorch", "mpi": "Mpi", "tensorflow": "TensorFlow", "ray": "Ray"}
_TASK = {"code": "code", "environment": "environment"}  # of a parallel step: keys and kinds
_OWN = ("name", SOURCE, *_COMPONENT, "compute", "inputs", "outputs")


def inner_fields(field: Field, value: Data) -> Iterator[Field]:
    """Find the places in steps that name other assets, as fields."""
    referring = {(key,): "component" for key in _COMPONENT} | {
        ("task", key): kind for key, kind in _TASK.items()
    }
    for name, step in value.items() if isinstance(value, Mapping) else ():
        for at, kind in referring.items():
            if isinstance(pointer.get(step, at), str):
                yield replace(field, at=(*field.at, name, *at), wire=(), refers_to=kind)


def encode(value: Data, _field: Field, scope: Scope) -> Data:
    """Encode steps as nodes."""
    return _map_each(value, lambda name, step: _encode_step(name, step, scope))


def decode(value: Data, _field: Field, scope: Scope) -> Data:
    """Decode steps from nodes."""
    return _map_each(value, lambda _name, node: _decode_step(node, scope))


def canonical(value: Data, field: Field, scope: Scope) -> Data:
    """Return the steps with values as texts, ids in lower case, no empty entries."""
    plain = _plain(encode(decode(encode(value, field, scope), field, scope), field, scope))
    return json.dumps(plain, sort_keys=True)


def _map_each(value: Data, spelt: Callable[[str, Mapping[str, Data]], Data]) -> Data:
    if not isinstance(value, Mapping):
        return value
    return {
        name: spelt(name, step) if isinstance(step, Mapping) else step
        for name, step in value.items()
    }


def _encode_step(name: str, step: Mapping[str, Data], scope: Scope) -> dict[str, Data]:
    kind = str(step.get("type", "command")).casefold()
    node: dict[str, Data] = {key: entry for key, entry in step.items() if key not in _OWN}
    node |= {"name": name, "type": kind}
    if step.get("compute"):
        node["computeId"] = _id(step["compute"], "compute", scope)
    for key, wire in _COMPONENT.items():
        if isinstance(step.get(key), str):
            pointer.put(node, wire, _id(step[key], "component", scope))
            node[SOURCE] = step.get(SOURCE) or _source(step[key])
    if isinstance(step.get("task"), Mapping):
        node["task"] = _encode_task(step["task"], scope)
    if kind == "parallel" and step.get("mini_batch_size") is not None:
        node["mini_batch_size"] = component_io.size(step["mini_batch_size"])
    if isinstance(step.get("partition_keys"), list):
        node["partition_keys"] = json.dumps(step["partition_keys"])
    for key, spelt in _NODE.items():
        if isinstance(node.get(key), Mapping):
            node[key] = spelt(node[key], kind)
    inputs = {
        key: _encode_input(binding, scope) for key, binding in _mapping(step.get("inputs")).items()
    }
    outputs = {
        key: _encode_output(binding, scope)
        for key, binding in _mapping(step.get("outputs")).items()
        if binding is not None
    }
    node |= {"inputs": inputs} if inputs else {}
    node |= {"outputs": outputs} if outputs else {}
    return {key: entry for key, entry in node.items() if entry not in (None, {}, [])}


def _decode_step(node: Mapping[str, Data], scope: Scope) -> dict[str, Data]:
    wires = ("componentId", "computeId", "trial")
    step = {key: entry for key, entry in node.items() if key not in (*_OWN, *wires)}
    for key, wire in _COMPONENT.items():
        reference = pointer.get(node, wire)
        if isinstance(reference, str):
            step[key] = _name(reference, "component", scope)
    if isinstance(node.get("computeId"), str):
        step["compute"] = _name(node["computeId"], "compute", scope)
    for key, spelt in _STEP.items():
        if isinstance(step.get(key), Mapping):
            step[key] = spelt(step[key])
    for key in ("inputs", "outputs"):
        if isinstance(node.get(key), Mapping):
            step[key] = {name: _decode_value(binding, scope) for name, binding in node[key].items()}
    return step


def _mapping(value: Data) -> Mapping[str, Data]:
    return value if isinstance(value, Mapping) else {}


def _id(value: Data, kind: str, scope: Scope) -> Data:
    reference = Reference.parse(str(value), kind)
    if reference is None or reference.address is None or _EXPRESSION.fullmatch(str(value)):
        return value
    label = f"/labels/{reference.label}" if reference.label else ""
    return f"{reference.address.id(reference.scope or scope)}{label}"


def _name(value: str, kind: str, scope: Scope) -> str:
    reference = Reference.parse(f"azureml:{value}" if value.startswith("/") else value, kind)
    if reference is None or reference.address is None:
        return value
    if reference.within(scope).scope is not None:
        return reference.text
    version = f":{reference.address.version}" if reference.address.version else ""
    return f"azureml:{reference.address.name}{version}"


def _source(path: str) -> str:
    if path.startswith("azureml://"):
        return "REMOTE.REGISTRY"
    return FILE if path.startswith(f"azureml:{ANONYMOUS}:") else "REMOTE.WORKSPACE.COMPONENT"


def _encode_input(value: Data, scope: Scope) -> Data:
    path = value.get("path") if isinstance(value, Mapping) else None
    if isinstance(value, Mapping) and "value" not in value and not _binds(path):
        return {_SNAKE.get(k, k): v for k, v in job_io.encode(value, "jobInputType", scope).items()}
    content = path if _binds(path) else value["value"] if isinstance(value, Mapping) else value
    sent: dict[str, Data] = {"value": str(content), "job_input_type": "literal"}
    if isinstance(value, Mapping) and value.get("mode"):
        sent["mode"] = job_io.mode(value["mode"])
    return sent


def _encode_output(value: Data, scope: Scope) -> Data:
    if not isinstance(value, Mapping):
        return {"value": value, "type": "literal"}
    if _binds(value.get("path")):
        bound = {"value": value["path"], "type": "literal"}
        return {**bound, "mode": job_io.mode(value["mode"])} if value.get("mode") else bound
    return {_SNAKE.get(k, k): v for k, v in job_io.encode(value, "jobOutputType", scope).items()}


def _decode_value(wire: Data, scope: Scope) -> Data:
    if not isinstance(wire, Mapping):
        return wire
    body = {_CAMEL.get(key, key): entry for key, entry in wire.items()}
    sort = "jobInputType" if "jobInputType" in body else "jobOutputType"
    if body.get(sort, body.get("type")) != "literal":
        return job_io.decode(body, sort, scope)
    if not body.get("mode"):
        return body.get("value")
    return {"path": body.get("value"), "mode": job_io.word(body["mode"])}


def _binds(value: Data) -> bool:
    return isinstance(value, str) and "${{" in value


_SNAKE = {
    "jobInputType": "job_input_type",
    "jobOutputType": "job_output_type",
    "assetName": "asset_name",
    "assetVersion": "assetVersion",
    "pathOnCompute": "path_on_compute",
}
_CAMEL = {snake: camel for camel, snake in _SNAKE.items()}


def _encode_task(value: Mapping[str, Data], scope: Scope) -> dict[str, Data]:
    references = {key: _id(value[key], kind, scope) for key, kind in _TASK.items() if key in value}
    ids = {
        key: f"azureml:{reference}" if str(reference).startswith("/") else reference
        for key, reference in references.items()
    }
    return {**value, **ids}


def _without(value: Mapping[str, Data], key: str) -> dict[str, Data]:
    return {name: entry for name, entry in value.items() if name != key}


def _encode_distribution(value: Data, _kind: str) -> Data:
    kind = str(value.get("type")).casefold()
    return {**_without(value, "type"), "distribution_type": _DISTRIBUTIONS.get(kind, kind)}


def _encode_limits(value: Data, kind: str) -> Data:
    if kind == "sweep":
        return value
    timeout = value.get("timeout")
    spelt = {"timeout": format_iso(timeout)} if isinstance(timeout, int | float) else {}
    return {**value, **spelt, "job_limits_type": "Command"}


def _encode_policy(value: Data, _kind: str) -> Data:
    kind = str(value.get("type")).casefold()
    policy = {"policy_type": sweeps.POLICIES.get(kind, kind)}
    return {"delay_evaluation": 0, **_without(value, "type"), **policy}


def _decode_distribution(value: Data) -> Data:
    kind = str(value.get("distribution_type")).casefold()
    return {"type": kind, **_without(value, "distribution_type")}


def _decode_limits(value: Data) -> Data:
    settings = _without(value, "job_limits_type")
    with suppress(ValueError):  # an expression, or an unknown value
        if isinstance(settings.get("timeout"), str):
            settings["timeout"] = int(parse_iso(settings["timeout"]))
    return settings


def _decode_policy(value: Data) -> Data:
    wire = value.get("policy_type")
    words = {wire: word for word, wire in sweeps.POLICIES.items()}
    return {"type": words.get(str(wire), wire), **_without(value, "policy_type")}


_NODE: Mapping[str, Callable[[Data, str], Data]] = {
    "distribution": _encode_distribution,
    "limits": _encode_limits,
    "early_termination": _encode_policy,
}
_STEP: Mapping[str, Callable[[Data], Data]] = {
    "distribution": _decode_distribution,
    "limits": _decode_limits,
    "early_termination": _decode_policy,
}


def _plain(value: Data, at: Pointer = ()) -> Data:
    if isinstance(value, Mapping):
        inner = {key: _plain(entry, (*at, key)) for key, entry in value.items() if key != SOURCE}
        return {key: entry for key, entry in inner.items() if entry not in ("", None, {}, [])}
    if isinstance(value, list):
        return [_plain(item, at) for item in value]
    ids = at and at[-1] in ("componentId", "computeId")
    text = str(value)
    return text.casefold() if ids or isinstance(value, bool) or text in ("True", "False") else text
