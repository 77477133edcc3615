"""Convert a job document to nodes, including those of nested pipelines, with values bound.

What an expression may name where is said in `kinds/expressions`. A component's input without a
value takes its default; an optional one without either is left out of `$[[...]]`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from mlctl import files
from mlctl.config.graph import Graph
from mlctl.config.loader import LoadedConfig
from mlctl.config.pipelines import Part, Pipeline, Step, order, step_of, steps_of
from mlctl.dataclasses import dataclass, replace
from mlctl.kinds import control_flow
from mlctl.kinds.address import Reference
from mlctl.kinds.expressions import INPUTS, JOBS, OUTPUTS, PARENT, only
from mlctl.kinds.records.data import KIND as DATA
from mlctl.kinds.records.environment import KIND as ENVIRONMENT
from mlctl.kinds.records.model import KIND as MODEL
from mlctl.kinds.resource import Resource, is_local, local_path
from mlctl.pointer import Data
from mlctl.rehearsal.scoring.parallel import ParallelStep
from mlctl.running import model

_NAME = re.compile(r"\w[\w.-]*")
_MOST_TRIALS = 1000  # reference-yaml-job-sweep
_ALGORITHM = "sampling_algorithm"
_NOT_RUN = ("automl", "spark", "data_transfer", "finetuning")
_DATA_TYPES = ("uri_", "mltable", "mlflow", "custom", "triton")


def plan_job(loaded: LoadedConfig, job: Resource, typed: Mapping[str, str]) -> model.JobPlan:
    """Plan what to run of a job; `typed` are inputs by name, or `STEP.NAME`, over its own.

    Raises:
        RunError: an expression leads nowhere, an input has no value, or a step is of a type that is
            not run.
    """
    planner = _Planner(loaded, job.document.source.name, dict(typed))
    whole = job.get()
    part = Part(job.document, job.root, whole if isinstance(whole, dict) else {})
    name = job.text("name") or Path(job.document.source.name).stem
    step = step_of(name, part, loaded.graph, loaded.read)
    runs = planner.component(step)
    if runs.mapping(JOBS):
        inputs = planner.inputs("", part, runs)
        nodes, outputs = planner.pipeline("", runs, inputs, job)
        settings = part.mapping("settings")
        plan = model.JobPlan(
            name, nodes, outputs, bool(settings.get("continue_on_step_failure", True))
        )
    else:
        node = planner.node(name, step)
        plan = model.JobPlan(
            name, {name: node}, {key: model.StepOutput(name, key) for key in node.outputs}
        )
    _check_names(plan)
    unknown = sorted(set(typed) - planner.used)
    if unknown:
        known = ", ".join(sorted(planner.known)) or "none"
        raise model.RunError(f"the job has no input `{unknown[0]}`; it has {known}")
    return plan


def _check_names(plan: model.JobPlan) -> None:
    """Refuse names that are no names of folders, which every job, step and output has."""
    outputs = [name for node in plan.nodes.values() for name in (*node.outputs, *node.inputs)]
    for name in (plan.name, *plan.nodes, *plan.outputs, *outputs):
        if not _NAME.fullmatch(name):
            raise model.RunError(f"`{name}` is no name: letters, digits, `_`, `-` and `.` are")
    if OUTPUTS in plan.nodes:
        raise model.RunError(f"`{OUTPUTS}` is the folder of the job's own outputs: rename the step")


class _Planner:
    """`used` are the typed inputs that were met, `known` all that can be typed."""

    def __init__(self, loaded: LoadedConfig, file: str, typed: dict[str, str]) -> None:
        self.file = file  # of the job
        self.graph: Graph = loaded.graph
        self.read = loaded.read
        self.typed = typed
        self.used: set[str] = set()
        self.known: set[str] = set()

    def component(self, step: Step) -> Part:
        """Return the component that a step runs."""
        if step.runs is None:
            written = step.part.data.get("component", step.part.data.get("trial"))
            raise model.RunError(
                f"{_where(step.part)}: the component `{written}` of the step `{step.name}` is not"
                f" here: name its file or a folder, too (mlctl job run {self.file} .)"
            )
        return step.runs

    def pipeline(
        self, prefix: str, part: Part, inputs: Mapping[str, model.Value], job: Resource
    ) -> tuple[dict[str, model.RunNode], dict[str, model.Produced]]:
        """Return the nodes of a pipeline, and where its outputs come from."""
        part = _unrolled(part, inputs)
        pipeline = Pipeline(job, part, steps_of(part, self.graph, self.read))
        names, cycle = order(pipeline)
        if cycle:
            raise model.RunError(f"the steps {', '.join(cycle)} wait for each other")
        scope = model.StepScope(inputs)
        nodes: dict[str, model.RunNode] = {}
        outputs: dict[str, model.Produced] = {}
        for name in names:
            step, path = pipeline.steps[name], f"{prefix}{name}"
            runs = self.component(step)
            if runs.mapping(JOBS):
                bound = self.inputs(path, step.part, runs, scope)
                inner, scope.outputs[name] = self.pipeline(f"{path}.", runs, bound, job)
                guards = scope.guards(step.part.data, _where(step.part))
                nodes |= {key: replace(n, guards=(*guards, *n.guards)) for key, n in inner.items()}
            else:
                nodes[path] = self.node(path, step, scope)
                scope.outputs[name] = {
                    output: model.StepOutput(path, output) for output in nodes[path].outputs
                }
            for output, written in step.part.mapping(OUTPUTS).items():
                text = written.get("path") if isinstance(written, dict) else written
                expression = only(text) if isinstance(text, str) else None
                if not expression or expression.path[:2] != (PARENT, OUTPUTS):
                    continue
                target = expression.path[2]
                if output in scope.outputs[name]:
                    value, loop = scope.outputs[name][output], step.part.data.get(control_flow.LOOP)
                    outputs[target] = in_loop(loop, outputs.get(target), value)
        return nodes, outputs

    def node(self, name: str, step: Step, scope: model.StepScope | None = None) -> model.RunNode:
        """Read a step of a pipeline, or without a scope a job by itself."""
        runs = step.runs or step.part
        kind = str(step.part.data.get("type") or runs.data.get("type") or "command").casefold()
        if kind in _NOT_RUN:
            raise model.RunError(
                f"{_where(step.part)}: `{name}` is of the type `{kind}`, which runs on Azure alone"
            )
        trial = step.part.data.get("trial")
        inner = Part(runs.document, runs.at, trial) if isinstance(trial, dict) else runs
        setting = _Settings(step.part, inner)
        task = setting.mapping("task")
        code = task.get("code") if task else setting.value("code")
        parallel = ParallelStep(name, step.part, runs) if kind == "parallel" or task else None
        command = str(setting.value("command") or "")
        if not command and parallel is None:
            raise model.RunError(f"{_where(step.part)}: `{name}` has no command")
        declared = {**runs.mapping(OUTPUTS), **step.part.mapping(OUTPUTS)}
        types = runs.mapping(OUTPUTS)
        distribution = setting.mapping("distribution")
        limits = setting.mapping("limits")
        written = setting.value("environment")
        return model.RunNode(
            name,
            _where(step.part),
            command,
            self.code(inner, code),
            self.inputs(name, step.part, runs, scope),
            {
                str(output): _type(types.get(output), written)
                for output, written in declared.items()
            },
            variables={
                str(key): str(value)
                for key, value in setting.mapping("environment_variables").items()
            },
            processes=_processes(setting, distribution),
            distribution=str(distribution.get("type") or "").casefold(),
            timeout=_seconds(limits.get("timeout"))
            if kind != "sweep"
            else _seconds(limits.get("trial_timeout")),
            reusable=scope is not None and runs.data.get("is_deterministic") is not False,
            trials=trials_of(setting.value, setting.mapping("early_termination"))
            if kind == "sweep"
            else None,
            parallel=parallel,
            environment=self.environment(inner, (task or {}).get("environment") or written),
            guards=(scope or model.StepScope()).guards(step.part.data, _where(step.part)),
        )

    def inputs(
        self,
        name: str,
        part: Part,
        runs: Part,
        scope: model.StepScope | None = None,
    ) -> dict[str, model.Value]:
        """Return the inputs of a step with a value: typed, set, or the component's default."""
        bound: dict[str, model.Value] = {}
        declared = runs.mapping(INPUTS)
        for key in {**declared, **part.mapping(INPUTS)}:
            path = f"{name}.{key}" if name and scope is not None else str(key)
            self.known.add(path)
            written = part.mapping(INPUTS).get(key)
            port = declared.get(key)
            port = port if isinstance(port, dict) else {}
            if path in self.typed:
                self.used.add(path)
                text = self.typed[path]
                exists = Path(text).exists()
                data = model.LocalData(files.real(Path(text))) if exists else None
                bound[str(key)] = data or model.Literal(text)
                continue
            if written is None or (
                isinstance(written, dict) and not {"path", "value"} & written.keys()
            ):
                written = port.get("default")
            if written is not None:
                place = part if key in part.mapping(INPUTS) else runs
                value = self.value(place, written, scope or model.StepScope())
                if isinstance(value, model.Elsewhere) and not value.typed:
                    value = replace(value, typed=path)
                if value is not None:
                    bound[str(key)] = value
            elif not port.get("optional"):
                raise model.RunError(
                    f"{_where(part)}: the input `{key}` has no value;"
                    f" --input {path}=VALUE gives one"
                )
        return bound

    def value(self, part: Part, written: Data, scope: model.StepScope) -> model.Value | None:
        """Read an input as a value; None if it is an optional input without one."""
        if isinstance(written, dict):
            inner = written.get("path", written.get("value", written.get("default")))
            is_data = "path" in written or str(written.get("type", "")).startswith(_DATA_TYPES)
            if inner is None:
                return None
            if not is_data or (isinstance(inner, str) and "${{" in inner):
                return self.value(part, inner, scope)
            return self.data(part, str(inner))
        if not isinstance(written, str):
            return model.Literal(str(written))
        value = scope.value(written, _where(part))
        if isinstance(value, model.Literal) and written.startswith("azureml:"):
            return self.data(part, value.text)
        return value

    def data(self, part: Part, text: str) -> model.Value:
        """Find data on this machine, by its path or as an asset of the given files."""
        for kind in (DATA, MODEL) if text.startswith("azureml:") else ():
            reference = Reference.parse(text, kind.name)
            target = reference.address if reference is not None else None
            for address in self.graph.declared(target)[:1] if target is not None else ():
                asset = self.graph.resources[address]
                return self.data(Part(asset.document, (), {}), str(asset.get("path")))
        if not is_local(text):
            return model.Elsewhere(text)
        path = part.document.folder / local_path(text)
        if not path.exists():
            raise model.RunError(f"{_where(part)}: there is no `{text}`")
        return model.LocalData(files.real(path))

    def environment(self, part: Part, written: Data) -> model.EnvironmentSource | None:
        """Read the environment that a step names, as far as local files describe it."""
        if written is None:
            return None
        if isinstance(written, dict):
            name = str(written.get("name") or _where(part))
            return model.EnvironmentSource(name, written, part.document.folder)
        reference = Reference.parse(str(written), ENVIRONMENT.name)
        target = reference.address if reference is not None else None
        for address in self.graph.declared(target)[:1] if target is not None else ():
            asset = self.graph.resources[address]
            whole = asset.get()
            data = whole if isinstance(whole, dict) else {}
            return model.EnvironmentSource(str(address), data, asset.document.folder)
        return model.EnvironmentSource(str(written), {}, part.document.folder)

    def code(self, part: Part, written: Data) -> Path | None:
        """Return the folder or file of the code; None if a command needs none."""
        if written is None:
            return None
        path = part.document.folder / local_path(str(written))
        if not is_local(str(written)) or not path.exists():
            raise model.RunError(f"{_where(part)}: the code `{written}` is not here")
        return files.real(path)


def in_loop(loop: Data, before: model.Produced | None, value: model.Produced) -> model.Produced:
    """Return the output of a step as one of its pipeline's; of a loop's round with the others."""
    if not loop:
        return value
    rounds = before.rounds if isinstance(before, model.LoopOutput) else ()
    return model.LoopOutput((*rounds, value), loop == control_flow.EVERY)


def _unrolled(part: Part, inputs: Mapping[str, model.Value]) -> Part:
    """Replace the control flow of a pipeline by the rounds of its loops."""

    def text_of(name: str) -> str | None:
        value = inputs.get(name)
        return value.text if isinstance(value, model.Literal) else None

    try:
        steps = control_flow.unroll(part.mapping(JOBS), text_of)
    except control_flow.ControlFlowError as error:
        where = _where(Part(part.document, (*part.at, JOBS, error.step), {}))
        raise model.RunError(f"{where}: `{error.step}` cannot be read: {error}") from None
    return replace(part, data={**part.data, JOBS: steps})


@dataclass(frozen=True, slots=True)
class _Settings:
    """The settings of a step, else of what it runs."""

    step: Part
    runs: Part

    def value(self, key: str) -> Data:
        value = self.step.data.get(key)
        return value if value is not None else self.runs.data.get(key)

    def mapping(self, key: str) -> Mapping[str, Data]:
        value = self.value(key)
        return value if isinstance(value, dict) else {}


def _type(declared: Data, written: Data) -> str:
    kinds = [port.get("type") for port in (written, declared) if isinstance(port, dict)]
    return str(next((kind for kind in kinds if kind), "uri_folder")).casefold()


def _processes(setting: _Settings, distribution: Mapping[str, Data]) -> int:
    if not distribution:
        return 1
    nodes = setting.mapping("resources").get("instance_count") or 1
    each = distribution.get("process_count_per_instance") or 1
    return int(str(nodes)) * int(str(each))


def _seconds(value: Data) -> float | None:
    return float(str(value)) if value not in (None, "") else None


def trials_of(value: Callable[[str], Data], early: Mapping[str, Data]) -> model.Trials:
    """Read the sweep of a step; `value` returns its fields in the spelling of components."""

    def mapping(key: str) -> Mapping[str, Data]:
        data = value(key)
        return data if isinstance(data, dict) else {}

    objective, limits, algorithm = mapping("objective"), mapping("limits"), mapping(_ALGORITHM)
    most = int(str(limits.get("max_total_trials") or _MOST_TRIALS))
    return model.Trials(
        mapping("search_space"),
        str(algorithm.get("type") or (not algorithm and value(_ALGORITHM)) or "random"),
        str(objective.get("primary_metric") or ""),
        str(objective.get("goal") or "").casefold() == "maximize",
        most,
        int(str(limits.get("max_concurrent_trials") or most)),
        early,
    )


def _where(part: Part) -> str:
    span = part.label().span
    return f"{span.source.name}:{span.line + 1}"
