"""Make components from pipeline steps that contain what they run.

Origin: azure-ai-ml 1.35.2, `ComponentTranslatableMixin` and the `_to_component` of each job.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

from mlctl.pointer import Data

Values: TypeAlias = Mapping[str, Data]

_IO = ("inputs", "outputs", "description", "tags")
# By type, the key that shows that a step contains what it runs, and what the component gets.
_INLINE = {
    "command": ("command", "code", "environment", "resources", "distribution"),
    "spark": (
        "entry",
        "code",
        "environment",
        "py_files",
        "jars",
        "files",
        "archives",
        "conf",
        "args",
    ),
    "parallel": (
        "task",
        "input_data",
        "mini_batch_size",
        "partition_keys",
        "logging_level",
        "max_concurrency_per_instance",
        "error_threshold",
        "mini_batch_error_threshold",
        "retry_settings",
        "resources",
    ),
}
# What the step keeps of what the component gets.
_KEPT = {
    "command": ("resources", "distribution"),
    "spark": ("entry", "py_files", "jars", "files", "archives", "conf", "args"),
    "parallel": _INLINE["parallel"],
}
_BINDING = r"\$\{\{\s*parent\.(inputs|outputs|jobs)\.(.*?)\s*\}\}"
_OF_STEP = r"([^.]+)\.(inputs|outputs)\.(.+)"
_FOLDER = {"type": "uri_folder"}
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}


def component_key(step: Values) -> str:
    """Return the key under which a step names its component: a sweep has a trial."""
    return "trial" if str(step.get("type", "")).casefold() == "sweep" else "component"


def inline_component(name: str, pipeline: Values, files: Mapping[str, Values]) -> Values | None:
    """Return the component document that a step contains; None if it names a component.

    `files` are the documents of the components that steps name by path, by step.
    """
    step = pipeline["jobs"][name]
    kind = str(step.get("type", "command")).casefold()
    keys = _INLINE.get(kind, ())
    if not keys or keys[0] not in step:
        return None
    document = {key: step[key] for key in (*keys, *_IO) if step.get(key) is not None}
    document |= {"type": kind} if kind != "command" else {}
    for ports in ("inputs", "outputs"):
        if isinstance(step.get(ports), Mapping):
            document[ports] = {
                key: _build_port(value, pipeline, files, first=True)
                for key, value in step[ports].items()
            }
    return document


def run(step: Values, kind: str, component: Values) -> dict[str, Data]:
    """Return a step without what its component has; a parallel step repeats it."""
    says = {*_INLINE.get(kind, ()), "description", "tags"} - {*_KEPT.get(kind, ())}
    settings = {key: entry for key, entry in step.items() if key not in says}
    if kind != "parallel":
        return settings
    repeated = {key: component[key] for key in _KEPT[kind] if component.get(key) is not None}
    task = component.get("task")
    return {**repeated, **settings} | ({"task": task} if task is not None else {})


def _build_port(
    value: Data, pipeline: Values, files: Mapping[str, Values], *, first: bool = False
) -> dict[str, Data]:
    """Return the component's port for a step's input or output."""
    bound = re.fullmatch(_BINDING, value) if isinstance(value, str) else None
    if bound is not None:
        group = bound[1]
        name = bound[2]
        if group != "jobs":
            folder = (pipeline.get(group) or {}).get(name, _FOLDER)
            return _build_port(folder, pipeline, files)
        match = re.fullmatch(_OF_STEP, name)
        step = pipeline["jobs"].get(match[1]) if match else None
        if match is None or not isinstance(step, Mapping):
            return dict(_FOLDER)
        declared = files.get(match[1])
        if declared is not None:
            port = (declared.get(match[2]) or {}).get(match[3]) or _FOLDER
        elif str(step.get("type")).casefold() == "automl":
            port = {"type": "mltable"}
        else:
            port = _build_port((step.get(match[2]) or {}).get(match[3]), pipeline, files)
        return {"type": port.get("type", "uri_folder")}
    if value is None:
        return dict(_FOLDER)
    if isinstance(value, Mapping):
        port = {"type": value.get("type", "uri_folder"), "mode": value.get("mode")}
        return {key: entry for key, entry in port.items() if entry is not None}
    port = {"type": _TYPES.get(type(value), "string")}
    return {**port, "default": value} if first else port
