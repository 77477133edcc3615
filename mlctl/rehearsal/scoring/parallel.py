"""Parallel steps of pipelines, and parallel components, as what is rehearsed.

"CLI (v2) parallel job YAML schema" has the defaults: 60 seconds, and two tries after the first.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mlctl import files
from mlctl.config.loader import LoadedConfig
from mlctl.config.pipelines import Part, pipelines
from mlctl.kinds.component_io import size
from mlctl.kinds.records.component import COMPONENT
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
_TABLE_BYTES = 1 << 20  # "1MB" of rows to a mini-batch, unless it is said


@dataclass(frozen=True, slots=True)
class ParallelStep:
    """A step with what it runs; of a component alone both are the same."""

    name: str
    step: Part
    runs: Part

    def said(self, *at: str) -> Data:
        """What the step says; else what its component does, or the default."""
        for part in (self.step, self.runs):
            found: Data = part.data
            for key in at:
                found = found.get(key) if isinstance(found, dict) else None
            if found is not None:
                return found
        return _DEFAULTS.get(at[0]) if len(at) == 1 else None

    def number(self, *at: str, default: int) -> int:
        """A whole number that is said; the default for anything else."""
        found = self.said(*at)
        return found if isinstance(found, int) else default


def steps(loaded: LoadedConfig) -> Iterator[ParallelStep]:
    """The parallel steps of all pipelines, and the parallel components."""
    for pipeline in pipelines(loaded.graph, loaded.read):
        for name, step in pipeline.steps.items():
            if _is_parallel(step.part.data) and step.runs is not None:
                yield ParallelStep(f"{pipeline.resource.address}/{name}", step.part, step.runs)
    for one in loaded.resources:
        data = one.get()
        if one.kind is COMPONENT and isinstance(data, dict) and _is_parallel(data):
            part = Part(one.document, one.root, data)
            yield ParallelStep(str(one.address), part, part)


def deployment(one: ParallelStep) -> Deployment:
    """A step as what is rehearsed.

    Raises:
        RehearsalError: it runs no script of ours, or an input of its arguments is not here.
    """
    task = one.said("task")
    task = task if isinstance(task, dict) else {}
    script = task.get("entry_script")
    if str(task.get("type", _RUN_FUNCTION)).casefold() != _RUN_FUNCTION or not script:
        raise RehearsalError(f"{one.name} has no script: its task is no `{_RUN_FUNCTION}`")
    folder = one.runs.document.folder
    code = files.real(folder / str(task.get("code") or "."))
    if not files.is_file(code / str(script)):
        raise RehearsalError(f"{one.name}: there is no script `{script}` in `{code}`")
    tabular = _is_tabular(one)
    given = size(one.said("mini_batch_size"))
    most = int(given) if isinstance(given, int) else 1
    keys = one.said("partition_keys")
    appends = task.get("append_row_to") is not None
    return Deployment(
        code / str(script),
        code,
        variables=folders.declared_variables(one.said("environment_variables")),
        nodes=one.number("resources", "instance_count", default=1),
        slots=one.number("max_concurrency_per_instance", default=1),
        mini_batch_size=most,
        tries=1 + one.number("retry_settings", "max_retries", default=_TRIES),
        timeout=float(one.number("retry_settings", "timeout", default=_TIMEOUT)),
        error_threshold=one.number("error_threshold", default=-1),
        output_action=APPEND_ROW if appends else "summary_only",
        arguments=_arguments(one, str(task.get("program_arguments") or "")),
        tabular=tabular,
        mini_batch_bytes=(most if most > 1 else _TABLE_BYTES) if tabular else None,
        partition_keys=tuple(map(str, keys)) if isinstance(keys, list) else (),
        endpoint=False,
    )


def _is_parallel(data: Mapping[str, Data]) -> bool:
    return str(data.get("type", "")).casefold() == "parallel" or "task" in data


def _is_tabular(one: ParallelStep) -> bool:
    """Whether the input that is split is an MLTable that is opened directly."""
    name = _INPUT.fullmatch(str(one.said("input_data") or ""))
    said = _input(one, name[1]) if name else None
    kind = said if isinstance(said, dict) else {}
    declared = one.runs.mapping("inputs").get(name[1]) if name else None
    more = declared if isinstance(declared, dict) else {}
    held = {**more, **kind}
    return held.get("type") == "mltable" and held.get("mode") == "direct"


def _input(one: ParallelStep, name: str) -> Data:
    given = one.step.mapping("inputs").get(name)
    return given if given is not None else one.runs.mapping("inputs").get(name)


def _arguments(one: ParallelStep, text: str) -> tuple[str, ...]:
    """The arguments of the script, each input the path or the value that it has here."""

    def optional(found: re.Match[str]) -> str:
        names = _INPUT.findall(found[1])
        return found[1] if all(_value(one, name) is not None for name in names) else ""

    def value(found: re.Match[str]) -> str:
        given = _value(one, found[1])
        if given is None:
            raise RehearsalError(f"{one.name}: the input `{found[1]}` of the arguments is not here")
        return shlex.quote(given)

    return tuple(shlex.split(_INPUT.sub(value, _OPTIONAL.sub(optional, text))))


def _value(one: ParallelStep, name: str) -> str | None:
    """A literal, or the path of a file or folder that is here; None for anything else."""
    given = _input(one, name)
    if isinstance(given, dict):
        given = given.get("path", given.get("default"))
        if isinstance(given, str):
            local = one.step.document.folder / Path(given)
            here = files.is_file(local) or files.is_folder(local)
            return str(files.real(local)) if here else None
    if given is None or "${{" in str(given) or str(given).startswith("azureml:"):
        return None
    return str(given)
