"""Steps of pipelines as ARM has them: what they need from each other, and run in the engine.

A step names a component, which says what the step does not; one of a registry is known by its id
alone, and taken for a command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

from mlctl.dataclasses import dataclass
from mlctl.kinds import control_flow
from mlctl.pointer import Data
from mlctl.service_errors import NotFound
from mlctl.simulator.control_plane.jobs import batch_jobs, training_jobs, workloads
from mlctl.simulator.control_plane.jobs.records import WorkspaceTransaction
from mlctl.simulator.control_plane.resources import arm_body
from mlctl.simulator.control_plane.state import rows
from mlctl.simulator.control_plane.state.errors import bad
from mlctl.simulator.engine.model import BatchSpec, ClusterSpec, TrainingSpec
from mlctl.workload import Workload

_STEP_OUTPUT = re.compile(r"\$\{\{\s*parent\.jobs\.([^.}\s]+)\.outputs\.([^}\s]+)\s*\}\}")
_OF_PIPELINE = re.compile(r"\$\{\{\s*parent\.inputs\.([^}\s]+)\s*\}\}")


def needed_steps(step: str, node: Data, steps: Mapping[str, Data]) -> tuple[str, ...]:
    """Return the steps whose outputs a step needs, in the order of the pipeline.

    Raises:
        ServiceError: it takes an output of a step that there is not.
    """
    needed = {match[1] for text in _texts(node) for match in _STEP_OUTPUT.finditer(text)}
    unknown = sorted(needed - {*steps})
    if unknown:
        text = f"The step `{step}` takes an output of `{unknown[0]}`, which is no step."
        raise bad(text, "InvalidPipeline")
    return tuple(name for name in steps if name in needed)


def with_inputs(data: Data, inputs: Mapping[str, str]) -> Data:
    """Replace references to pipeline inputs in the data; unknown ones stay."""
    match data:
        case str():
            return _OF_PIPELINE.sub(lambda match: inputs.get(match[1], match[0]), data)
        case Mapping():
            return {key: with_inputs(value, inputs) for key, value in data.items()}
        case list():
            return [with_inputs(value, inputs) for value in data]
        case _:
            return data


def with_outputs(inputs: Mapping[str, str], keys: Mapping[str, str]) -> dict[str, str]:
    """Replace expressions by the keys of other steps in the inputs of a step."""

    def of_key(match: re.Match[str]) -> str:
        return f"{keys.get(match[1], match[1])}/{match[2]}"

    return {name: _STEP_OUTPUT.sub(of_key, text) for name, text in inputs.items()}


def input_texts(values: Mapping[str, Data], declared: Mapping[str, Data]) -> dict[str, str]:
    """Return the values of inputs as texts: given ones, or else declared defaults."""
    texts = {
        name: str(declaration["default"])
        for name, declaration in declared.items()
        if isinstance(declaration, Mapping) and declaration.get("default") is not None
    }
    for name, data in values.items():
        value = data.get("value", data.get("uri")) if isinstance(data, Mapping) else data
        if value is not None:
            texts[name] = str(value)
    return texts


def _texts(data: Data) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping | list):
        for value in data.values() if isinstance(data, Mapping) else data:
            yield from _texts(value)


_FILES, _TABLE = 10, "mltable"  # files of a mini-batch, unless said otherwise
_DEFAULT_TIMEOUT = 60  # seconds; of a mini-batch (azure-ai-ml, parallel jobs)


@dataclass(frozen=True, slots=True)
class PipelineNode:
    """A step with the inputs of its pipeline put in place; `component` is its spec, if known."""

    step: str
    data: Mapping[str, Data]
    component: Mapping[str, Data]
    input_texts: Mapping[str, str]

    @property
    def kind(self) -> str:
        """Return what it runs: `command`, `parallel`, `sweep`, `pipeline`, `spark`, `automl`."""
        return str(self.data.get("type") or self.component.get("type") or "command")

    @property
    def is_pipeline(self) -> bool:
        """Whether it is a pipeline whose steps are known."""
        return self.kind == "pipeline" and bool(self.component.get("jobs"))

    @property
    def component_id(self) -> str | None:
        """Return the id of its component."""
        reference = self.data.get("componentId") or self.data.get("component")
        return str(reference) if isinstance(reference, str) else None

    @property
    def component_version(self) -> str:
        """Return the last part of that id, by which anonymous components differ."""
        return (self.component_id or self.step).rpartition("/")[2]

    @property
    def module(self) -> str:
        """Return the name of its component."""
        unversioned = (self.component_id or "").partition("/versions/")[0]
        return str(self.component.get("name") or unversioned.rpartition("/")[2] or self.step)

    @property
    def compute(self) -> str:
        """Return the cluster that it names, or "" for its pipeline's."""
        text = str(self.data.get("computeId") or self.data.get("compute") or "")
        return "" if text.startswith("$") else text

    @property
    def declared_outputs(self) -> dict[str, Data]:
        """Return its outputs: those of its component, overridden by the step's."""
        return {
            **arm_body.section(self.component, "outputs"),
            **arm_body.section(self.data, "outputs"),
        }

    def setting(self, name: str) -> Data:
        """Return a setting of the step, or else of its component."""
        value = self.data.get(name)
        return self.component.get(name) if value is None else value

    def section(self, name: str) -> dict[str, Data]:
        """Return a group of settings: the step's, completed by its component's."""
        settings = {
            key: value
            for key, value in arm_body.section(self.data, name).items()
            if value is not None
        }
        return {**arm_body.section(self.component, name), **settings}


@dataclass(frozen=True, slots=True)
class NodeContext:
    """Where a step runs: the engine's name of its job, and the compute of its pipeline."""

    transaction: WorkspaceTransaction
    name: str
    compute: str


def read(
    transaction: WorkspaceTransaction, step: str, data: Data, inputs: Mapping[str, str]
) -> PipelineNode:
    """Read a step of a pipeline whose inputs are `inputs`.

    Raises:
        ServiceError: it is no step that runs here, or its component does not exist (404).
    """
    if not isinstance(data, Mapping):
        raise bad(f"The step `{step}` is no object.", "InvalidPipeline")
    bound: Mapping[str, Data] = with_inputs(data, inputs)
    if control_flow.kind_of(bound):
        text = (
            f"The step `{step}` is of the type `{bound['type']}`: which steps run, the simulated"
            " cloud knows where their code is run (--run-code)."
        )
        raise bad(text, "UnsupportedStep")
    declared = bound.get("componentId") or bound.get("component")
    component = declared if isinstance(declared, Mapping) else spec_of(transaction, declared)
    texts = input_texts(arm_body.section(bound, "inputs"), arm_body.section(component, "inputs"))
    return PipelineNode(step, bound, component, texts)


def spec_of(transaction: WorkspaceTransaction, component: Data) -> Mapping[str, Data]:
    """Return the spec of a component; empty for one of a registry.

    Raises:
        ServiceError: the workspace has none of that name (404).
    """
    state = transaction.state
    address = batch_jobs.address_in(state, str(component or ""), "component")
    if address is None:
        return {}
    resource = rows.find(transaction.db, state.id, address)
    if resource is None:
        text = f"Not found component {address.name} (version: {address.version})."
        raise NotFound("NotFound", f"key: {address.id(state.scope)}, Message: {text}")
    return arm_body.section(resource.body["properties"], "componentSpec")


def unrolled(steps: Mapping[str, Data], inputs: Mapping[str, str]) -> dict[str, Data]:
    """Return the steps of a pipeline whose inputs are `inputs`, with loops unrolled.

    Raises:
        ServiceError: a step of control flow cannot be read.
    """
    try:
        return control_flow.unroll(steps, inputs.get)
    except control_flow.ControlFlowError as error:
        raise bad(f"The step `{error.step}` cannot be read: {error}.", "InvalidPipeline") from None


def sort_steps(steps: Mapping[str, Data]) -> list[str]:
    """Sort the steps: each comes after those that it needs.

    Raises:
        ServiceError: they wait for each other, or need one that there is not.
    """
    needs = {step: needed_steps(step, data, steps) for step, data in steps.items()}
    try:
        return list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        circle = " -> ".join(f"`{step}`" for step in reversed(error.args[1]))
        raise bad(f"The steps wait for each other: {circle}.", "InvalidPipeline") from None


def leaf(
    run: NodeContext, node: PipelineNode, workload: Workload, *, ran: bool = False
) -> tuple[TrainingSpec | BatchSpec, ClusterSpec | None]:
    """Return what the engine runs for a command or parallel step, and its own cluster if any.

    A parallel step whose code `ran` is measured as a whole, as a command is.
    """
    properties = training_properties(run, node)
    if ran or node.kind != "parallel":
        spec = training_jobs.training_spec(run.transaction, run.name, properties, workload)
        return spec, None
    cluster, own_cluster = training_jobs.nodes_of(run.transaction, run.name, properties)
    retry = node.section("retry_settings")
    batch = BatchSpec(
        run.name,
        cluster or (own_cluster.name if own_cluster else ""),
        workload.files or 0,
        workloads.batch_work(workload),
        mini_batch_size=_mini_batch_size(node),
        instance_count=properties["resources"]["instanceCount"],
        concurrency=_whole(
            node.setting("max_concurrency_per_instance"), 1, 1, "max_concurrency_per_instance"
        ),
        max_retries=_whole(retry.get("max_retries"), 3, 0, "max_retries"),
        timeout_s=float(_whole(retry.get("timeout"), _DEFAULT_TIMEOUT, 1, "timeout")),
        error_threshold=_whole(node.setting("error_threshold"), -1, -1, "error_threshold"),
    )
    return batch, own_cluster


def _mini_batch_size(node: PipelineNode) -> int:
    """Return the files in a mini-batch; a table's size is in bytes, which does not say."""
    data = re.fullmatch(r"\$\{\{\s*inputs\.(\w+)\s*\}\}", str(node.setting("input_data") or ""))
    name = data[1] if data else ""
    given_input = arm_body.section(arm_body.section(node.data, "inputs"), name)
    declared = arm_body.section(arm_body.section(node.component, "inputs"), name)
    if _TABLE in (given_input.get("job_input_type"), declared.get("type")):
        return _FILES
    return _whole(node.setting("mini_batch_size"), _FILES, 1, "mini_batch_size")


def training_properties(run: NodeContext, node: PipelineNode) -> dict[str, Data]:
    """Return ARM's properties of a step's job: where it runs, how wide and how long."""
    resources, limits = node.section("resources"), node.section("limits")
    queue = node.section("queue_settings")
    return {
        "computeId": node.compute or run.compute or None,
        "resources": {
            "instanceCount": _whole(resources.get("instance_count"), 1, 1, "instance_count"),
            "instanceType": resources.get("instance_type"),
        },
        "limits": {"timeout": seconds_of(limits.get("timeout"))},
        "queueSettings": {"jobTier": str(queue.get("job_tier") or "").capitalize()},
    }


def seconds_of(value: Data) -> str | None:
    """Convert a time limit to ISO 8601; components have seconds."""
    if value in (None, ""):
        return None
    text = str(value)
    return f"PT{text}S" if text.isdecimal() else text


def _whole(value: Data, default: int, least: int, name: str) -> int:
    """Read a whole number that a component may have as text."""
    if value in (None, ""):
        return default
    number = int(value) if isinstance(value, str) and value.lstrip("-").isdecimal() else value
    return arm_body.whole_number(number, least, name)
