"""Parallel steps of pipelines, and parallel components, as subjects of a rehearsal.

The defaults are those of "CLI (v2) parallel job YAML schema": 60 seconds, and two tries after the
first.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from mlctl import files
from mlctl.config.loader import LoadedConfig
from mlctl.config.pipelines import Part, pipelines
from mlctl.dataclasses import dataclass
from mlctl.kinds.component_io import size
from mlctl.kinds.records.component import KIND as COMPONENT
from mlctl.pointer import Data
from mlctl.rehearsal import folders
from mlctl.rehearsal.inputs import RehearsalError
from mlctl.rehearsal.scoring.deployment import APPEND_ROW, Deployment

_INPUT = re.compile(r"\$\{\{\s*inputs\.(\w+)\s*\}\}")
_OPTIONAL = re.compile(r"\$\[\[(.*?)\]\]", re.DOTALL)
_RUN_FUNCTION = "run_function"
_DEFAULTS: dict[str, Data] = {
    "mini_batch_size": "1",
    "max_concurrency_per_instance": 1,
    "error_threshold": -1,
}
_TRIES, _TIMEOUT = 2, 60
_TABLE_BYTES = 1 << 20  # a mini-batch has "1MB" of rows unless set


@dataclass(frozen=True, slots=True)
class ParallelStep:
    """A step and its component; for a component alone both are the same."""

    name: str
    step: Part
    runs: Part

    def setting(self, *at: str) -> Data:
        """Return the value of the step, else that of its component, else the default."""
        for part in (self.step, self.runs):
            value: Data = part.data
            for key in at:
                value = value.get(key) if isinstance(value, dict) else None
            if value is not None:
                return value
        return _DEFAULTS.get(at[0]) if len(at) == 1 else None

    def number(self, *at: str, default: int) -> int:
        """Return a setting as a whole number; the default for anything else."""
        value = self.setting(*at)
        return value if isinstance(value, int) else default


def steps(loaded: LoadedConfig) -> Iterator[ParallelStep]:
    """Return the parallel steps of all pipelines, and the parallel components."""
    for pipeline in pipelines(loaded.graph, loaded.read):
        for name, step in pipeline.steps.items():
            if _is_parallel(step.part.data) and step.runs is not None:
                yield ParallelStep(f"{pipeline.resource.address}/{name}", step.part, step.runs)
    for resource in loaded.resources:
        data = resource.get()
        if resource.kind is COMPONENT and isinstance(data, dict) and _is_parallel(data):
            part = Part(resource.document, resource.root, data)
            yield ParallelStep(str(resource.address), part, part)


def deployment(step: ParallelStep, arguments: tuple[str, ...] | None = None) -> Deployment:
    """Convert a step to a deployment, with `arguments` instead of its script's own.

    Raises:
        RehearsalError: it runs no script of the user's, or an input of its arguments is missing.
    """
    task = step.setting("task")
    task = task if isinstance(task, dict) else {}
    script = task.get("entry_script")
    if str(task.get("type", _RUN_FUNCTION)).casefold() != _RUN_FUNCTION or not script:
        raise RehearsalError(f"{step.name} has no script: its task is not `{_RUN_FUNCTION}`")
    folder = step.runs.document.folder
    code = files.real(folder / str(task.get("code") or "."))
    if not files.is_file(code / str(script)):
        raise RehearsalError(f"{step.name}: there is no script `{script}` in `{code}`")
    tabular = _is_tabular(step)
    mini_batch = size(step.setting("mini_batch_size"))
    mini_batch_size = int(mini_batch) if isinstance(mini_batch, int) else 1
    keys = step.setting("partition_keys")
    appends = task.get("append_row_to") is not None
    return Deployment(
        script=code / str(script),
        code=code,
        variables=folders.declared_variables(step.setting("environment_variables")),
        nodes=step.number("resources", "instance_count", default=1),
        slots=step.number("max_concurrency_per_instance", default=1),
        mini_batch_size=mini_batch_size,
        tries=1 + step.number("retry_settings", "max_retries", default=_TRIES),
        timeout=float(step.number("retry_settings", "timeout", default=_TIMEOUT)),
        error_threshold=step.number("error_threshold", default=-1),
        output_action=APPEND_ROW if appends else "summary_only",
        arguments=_arguments(step, str(task.get("program_arguments") or ""))
        if arguments is None
        else arguments,
        tabular=tabular,
        mini_batch_bytes=(mini_batch_size if mini_batch_size > 1 else _TABLE_BYTES)
        if tabular
        else None,
        partition_keys=tuple(map(str, keys)) if isinstance(keys, list) else (),
        endpoint=False,
    )


def _is_parallel(data: Mapping[str, Data]) -> bool:
    return str(data.get("type", "")).casefold() == "parallel" or "task" in data


def _is_tabular(step: ParallelStep) -> bool:
    """Whether the input that is split is an MLTable that is opened directly."""
    match = _INPUT.fullmatch(str(step.setting("input_data") or ""))
    if match is None:
        return False
    settings = {**step.runs.mapping("inputs", match[1]), **step.step.mapping("inputs", match[1])}
    return settings.get("type") == "mltable" and settings.get("mode") == "direct"


def _arguments(step: ParallelStep, text: str) -> tuple[str, ...]:
    """Return the arguments of the script, with the local path or value of each input."""

    def optional(match: re.Match[str]) -> str:
        names = _INPUT.findall(match[1])
        return match[1] if all(_value(step, name) is not None for name in names) else ""

    def value(match: re.Match[str]) -> str:
        text_of_input = _value(step, match[1])
        if text_of_input is None:
            raise RehearsalError(
                f"{step.name}: the input `{match[1]}` of the arguments is not a local file or value"
            )
        return shlex.quote(text_of_input)

    return tuple(shlex.split(_INPUT.sub(value, _OPTIONAL.sub(optional, text))))


def _value(step: ParallelStep, name: str) -> str | None:
    """Return a literal, or the path of a local file or folder; None for anything else."""
    value = step.step.mapping("inputs").get(name)
    if value is None:
        value = step.runs.mapping("inputs").get(name)
    if isinstance(value, dict):
        value = value.get("path", value.get("default"))
        if isinstance(value, str):
            local = step.step.document.folder / Path(value)
            exists = files.is_file(local) or files.is_folder(local)
            return str(files.real(local)) if exists else None
    if value is None or "${{" in str(value) or str(value).startswith("azureml:"):
        return None
    return str(value)
