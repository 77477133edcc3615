"""Convert a job of the simulated cloud from ARM to nodes that run here, with inputs bound.

Steps of pipelines are spelled as in components (`search_space`), jobs as in ARM (`searchSpace`): a
job is first converted to the spelling of steps.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from mlctl import files
from mlctl.config.pipelines import Part
from mlctl.dataclasses import dataclass, replace
from mlctl.diagnostics import SourceText
from mlctl.durations import parse_iso
from mlctl.kinds import control_flow
from mlctl.kinds.expressions import INPUTS, OUTPUTS, PARENT, only
from mlctl.kinds.resource import is_local, local_path
from mlctl.pointer import Data
from mlctl.rehearsal.scoring.parallel import ParallelStep
from mlctl.running import model
from mlctl.running.planner import in_loop, trials_of
from mlctl.service_errors import Permanent
from mlctl.serving.deployments import CodeSettings, locate, uri_of
from mlctl.simulator.control_plane import service
from mlctl.simulator.control_plane.jobs import batch_jobs, pipeline_nodes
from mlctl.simulator.control_plane.jobs.pipeline_nodes import PipelineNode
from mlctl.simulator.control_plane.resources import arm_body
from mlctl.simulator.control_plane.state.rows import WorkspaceState
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle
from mlctl.source import Document

_PLAIN = ("literal", "string", "number", "integer", "boolean", "enum")
_RUN = ("command", "sweep", "parallel", "pipeline")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_AS_STEPS = {  # what ARM's names of jobs become, besides their spelling
    "codeId": "code",
    "environmentId": "environment",
    "distributionType": "type",
    "samplingAlgorithmType": "type",
    "policyType": "type",
}
_OF_USERS = ("environmentVariables", "searchSpace", "inputs", "outputs")  # their keys are names


def plan(
    workspace: WorkspaceHandle,
    name: str,
    properties: Mapping[str, Data],
    code: CodeSettings,
    base: Path,
) -> model.JobPlan:
    """Plan what to run of the job `name`; local paths in it are relative to `base`.

    Raises:
        Permanent: code, data or a component of it is missing, or it is of a kind that cannot run
            here.
    """
    reader = _Reader(workspace, code, base)
    try:
        return _plan(reader, name, properties)
    except model.RunError as error:
        raise Permanent("InvalidPipeline", str(error)) from None


def _plan(reader: _Reader, name: str, properties: Mapping[str, Data]) -> model.JobPlan:
    component = reader.component(properties.get("componentId"))
    steps = arm_body.section(properties, "jobs") or arm_body.section(component, "jobs")
    if steps:
        inputs = reader.inputs("the job", properties, component, model.StepScope())
        nodes, outputs = reader.pipeline("", steps, inputs)
        settings = arm_body.section(properties, "settings")
        goes_on = str(settings.get("continue_on_step_failure", True)).casefold() != "false"
        return model.JobPlan(name, nodes, outputs, goes_on)
    step = {
        **_as_step(properties),
        "inputs": properties.get("inputs") or {},
        "outputs": properties.get("outputs") or {},
        "type": str(properties.get("jobType") or "command").casefold(),
    }
    node = reader.node(name, PipelineNode(name, step, {}, {}), model.StepScope())
    return model.JobPlan(
        name, {name: node}, {key: model.StepOutput(name, key) for key in node.outputs}
    )


def _as_step(data: Mapping[str, Data]) -> dict[str, Data]:
    """Convert ARM's properties to the spelling of steps."""
    step: dict[str, Data] = {}
    for key, value in data.items():
        name = _AS_STEPS.get(key) or _CAMEL.sub("_", key).casefold()
        nested = isinstance(value, Mapping) and key not in _OF_USERS
        step[name] = _as_step(value) if nested else value
    return step


@dataclass(frozen=True)
class _Reader:
    workspace: WorkspaceHandle
    code: CodeSettings
    base: Path

    @cached_property
    def state(self) -> WorkspaceState:
        return self.workspace.current

    def component(self, reference: Data) -> Mapping[str, Data]:
        """Return the spec of a component of the workspace; empty if none is named."""
        if isinstance(reference, Mapping):
            return reference
        if not reference:
            return {}
        address = batch_jobs.address_in(self.state, str(reference), "component")
        stored = service.read(self.workspace, [address]).get(address) if address else None
        if stored is None:
            why = f"the code of the component `{reference}` is not on this machine"
            raise Permanent("NoFiles", f"{why}: register it in the workspace from its file")
        return arm_body.section(stored.body["properties"], "componentSpec")

    def pipeline(
        self, prefix: str, steps: Mapping[str, Data], inputs: Mapping[str, model.Value]
    ) -> tuple[dict[str, model.RunNode], dict[str, model.Produced]]:
        """Return the nodes of a pipeline, and where its outputs come from."""
        texts = {
            key: value.text for key, value in inputs.items() if isinstance(value, model.Literal)
        }
        steps = pipeline_nodes.unrolled(steps, texts)
        scope = model.StepScope(inputs)
        nodes: dict[str, model.RunNode] = {}
        outputs: dict[str, model.Produced] = {}
        for step in pipeline_nodes.sort_steps(steps):
            data, path = steps[step], f"{prefix}{step}"
            if not isinstance(data, Mapping):
                raise Permanent("InvalidPipeline", f"The step `{step}` is not an object.")
            trial = arm_body.section(data, "trial")
            reference = data.get("componentId") or data.get("component") or trial.get("componentId")
            node = PipelineNode(step, data, {**trial, **self.component(reference)}, {})
            guards = scope.guards(data, f"`{path}`")
            if arm_body.section(node.component, "jobs"):
                bound = self.inputs(f"`{path}`", data, node.component, scope)
                jobs = node.component["jobs"]
                inner, scope.outputs[step] = self.pipeline(f"{path}.", jobs, bound)
                nodes |= {key: replace(n, guards=(*guards, *n.guards)) for key, n in inner.items()}
            else:
                nodes[path] = replace(self.node(path, node, scope), guards=guards)
                ports = nodes[path].outputs
                scope.outputs[step] = {key: model.StepOutput(path, key) for key in ports}
            for key, item in arm_body.section(data, "outputs").items():
                expression = only(str(item.get("value"))) if isinstance(item, Mapping) else None
                if expression and expression.path[:2] == (PARENT, OUTPUTS):
                    target, loop = expression.path[2], data.get(control_flow.LOOP)
                    outputs[target] = in_loop(loop, outputs.get(target), scope.outputs[step][key])
        return nodes, outputs

    def node(self, name: str, node: PipelineNode, scope: model.StepScope) -> model.RunNode:
        """Read a command, sweep or parallel step."""
        kind = node.kind.casefold()
        if kind not in _RUN:
            why = f"`{name}` is of the type `{kind}`, whose code cannot run here"
            raise Permanent("NotRun", f"{why}; {', '.join(_RUN)} are")
        trial, task = arm_body.section(node.data, "trial"), node.section("task")
        command = str(trial.get("command") or node.setting("command") or "")
        if not command and not task:
            raise Permanent("NotRun", f"`{name}` has no command: there is no code to run")
        code = task.get("code") or trial.get("code") or node.setting("code")
        folder = self.files("code", str(code)) if code else None
        distribution = node.section("distribution") or arm_body.section(trial, "distribution")
        each = int(str(distribution.get("process_count_per_instance") or 1))
        nodes = int(str(node.section("resources").get("instance_count") or 1))
        limits = node.section("limits")
        timeout = pipeline_nodes.seconds_of(
            limits.get("trial_timeout" if kind == "sweep" else "timeout")
        )
        variables = {**node.section("environment_variables")}
        variables |= arm_body.section(trial, "environment_variables")
        return model.RunNode(
            name,
            f"`{name}`",
            command,
            folder,
            self.inputs(f"`{name}`", node.data, node.component, scope),
            {key: _type(node, key, item) for key, item in node.declared_outputs.items()},
            variables={str(key): str(value) for key, value in variables.items()},
            processes=nodes * each if distribution else 1,
            distribution=str(distribution.get("type") or "").casefold(),
            timeout=None if timeout is None else parse_iso(timeout),
            reusable=False,
            trials=_trials(node) if kind == "sweep" else None,
            parallel=_parallel(name, node, folder) if task and folder else None,
        )

    def inputs(
        self,
        label: str,
        data: Mapping[str, Data],
        component: Mapping[str, Data],
        scope: model.StepScope,
    ) -> dict[str, model.Value]:
        """Return the inputs that have a value: set, or the component's default."""
        declared, bound = arm_body.section(component, INPUTS), {}
        given = arm_body.section(data, INPUTS)
        for key in {**declared, **given}:
            port, item = arm_body.section(declared, key), given.get(key)
            if isinstance(item, Mapping):
                text = item.get("value", item.get("uri"))
                kind = item.get("jobInputType") or item.get("job_input_type") or port.get("type")
            else:
                text, kind = item, port.get("type")
            text = port.get("default") if text is None else text
            value = None
            if text is not None:
                value = self.value(label, str(text), str(kind or "literal"), scope)
            if value is not None:
                bound[key] = value
            elif str(port.get("optional", False)).casefold() != "true":
                raise Permanent("MissingInput", f"the input `{key}` of {label} has no value")
        return bound

    def value(self, label: str, text: str, kind: str, scope: model.StepScope) -> model.Value | None:
        """Resolve the text of an input; None for an input of the pipeline without a value."""
        value = scope.value(text, label)
        is_plain = kind.casefold() in _PLAIN or only(text) is not None
        if isinstance(value, model.Literal) and not is_plain:
            asset = "model" if kind.casefold().endswith("_model") else "data"
            return model.LocalData(self.files(asset, text))
        return value

    def files(self, kind: str, text: str) -> Path:
        """Return the file or folder that a path, a URI or the id of an asset names."""
        if is_local(text) and not text.startswith("/subscriptions/"):
            path = files.real(self.base / local_path(text))
            if not path.exists():
                raise Permanent("NoFiles", f"there is no `{text}` in `{self.base}`")
            return path
        uri = uri_of(self.workspace, kind, text)
        return files.real(locate(uri, f"the {kind} `{text.rpartition('/')[2]}`", self.code))


def _type(node: PipelineNode, key: str, item: Data) -> str:
    port = arm_body.section(arm_body.section(node.component, OUTPUTS), key)
    said = item if isinstance(item, Mapping) else {}
    kinds = (said.get("jobOutputType"), said.get("job_output_type"), port.get("type"))
    return str(next((kind for kind in kinds if kind), "uri_folder")).casefold()


def _trials(node: PipelineNode) -> model.Trials:
    early = _as_step(node.section("early_termination"))
    early["type"] = _CAMEL.sub("_", str(early.get("type") or early.get("policy_type") or ""))
    return trials_of(node.setting, early if early["type"] else {})


def _parallel(name: str, node: PipelineNode, folder: Path) -> ParallelStep:
    """Read a parallel step whose code is in a local folder."""
    data = {**node.component, **node.data}
    data["task"] = {**node.section("task"), "code": str(folder)}
    for key, value in data.items():
        if isinstance(value, str) and value.lstrip("-").isdecimal():
            data[key] = int(value)  # components have numbers as texts
    part = Part(Document(SourceText(name, ""), data), (), data)
    return ParallelStep(name, part, part)
