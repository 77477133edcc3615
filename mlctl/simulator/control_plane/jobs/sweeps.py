"""Sweep jobs: trials with parameters from a search space, a limited number at a time.

A trial is a training job. What it would measure nobody knows here, so a policy of early termination
stops a share of the trials after its first evaluation: the share that truncation selection says,
and half of them under the other policies (A).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from mlctl.dataclasses import dataclass, replace
from mlctl.durations import parse_iso
from mlctl.kinds.sweeps import DISTRIBUTIONS
from mlctl.pointer import Data
from mlctl.simulator.control_plane.jobs import pipeline_nodes, records, training_jobs, workloads
from mlctl.simulator.control_plane.jobs.records import JobRecord, JobRow, WorkspaceTransaction
from mlctl.simulator.control_plane.jobs.workloads import CodeResult, JobRequest
from mlctl.simulator.control_plane.resources import arm_body
from mlctl.simulator.control_plane.state.errors import bad
from mlctl.simulator.engine import rng
from mlctl.simulator.engine.commands import SubmitGroup
from mlctl.simulator.engine.model import GroupSpec, MemberSpec
from mlctl.workload import Workload

_MOST_TRIALS = 1000  # https://learn.microsoft.com/azure/machine-learning/reference-yaml-job-sweep
_STOPPED = 0.5  # A: of the trials, by policies that compare what trials measure
_WORDS = ("max_total_trials", "max_concurrent_trials", "timeout", "trial_timeout")


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a sweep tries, in the spelling of pipelines; `job` has ARM's properties of a trial."""

    space: Mapping[str, Data]
    algorithm: str
    limits: Mapping[str, Data]
    early: Mapping[str, Data]
    job: Mapping[str, Data]


def submit(transaction: WorkspaceTransaction, row: JobRow, request: JobRequest) -> JobRecord:
    """Submit a sweep job and its trials as `row` says, whose note is completed."""
    properties = request.properties
    run = pipeline_nodes.NodeContext(
        transaction, transaction.engine_name(row.name), str(properties.get("computeId") or "")
    )
    stored = workloads.part_workload(transaction.db, row.name, request.workload_name)
    workload = request.workload.over(stored)
    ran = request.ran.get("")
    group, rows = trials(
        run, row.name, _sweep_of_job(properties), workload, transaction.state.now, ran
    )
    note = {key: value for key, value in properties.items() if key != "status"}
    note.setdefault("displayName", row.name)
    note |= ran.note if ran is not None else {}
    if "best" in note:
        best = f"{row.name}_{note.pop('best')}"
        note["properties"] = {**(note.get("properties") or {}), "best_child_run_id": best}
    return records.submit(transaction, replace(row, note=note), SubmitGroup(group), rows)


def sweep_of_node(run: pipeline_nodes.NodeContext, node: pipeline_nodes.PipelineNode) -> Sweep:
    """Return the sweep of a pipeline's step."""
    algorithm = node.setting("sampling_algorithm")
    return Sweep(
        node.section("search_space"),
        str(algorithm.get("type") if isinstance(algorithm, Mapping) else algorithm or "random"),
        node.section("limits"),
        node.section("early_termination"),
        pipeline_nodes.training_properties(run, node),
    )


def trials(
    run: pipeline_nodes.NodeContext,
    name: str,
    sweep: Sweep,
    workload: Workload,
    now: float,
    ran: CodeResult | None = None,
) -> tuple[GroupSpec, list[JobRow]]:
    """Return the trials of the sweep `name` as a job of the engine, and their rows.

    Where the user's code `ran`, they are its trials with what it measured.
    """
    total = _limit(sweep, "max_total_trials") or _MOST_TRIALS
    at_once = _limit(sweep, "max_concurrent_trials") or total
    rows: list[JobRow] = []
    members: list[MemberSpec] = []
    drawn = itertools.islice(samples(run.transaction.state.seed, name, sweep), total)
    for number, values in enumerate(drawn if ran is None else ({} for _ in ran.trials)):
        trial = f"{name}_{number}"
        measured = ran.trials[number] if ran is not None else None
        spec = training_jobs.training_spec(
            run.transaction,
            run.transaction.engine_name(trial),
            {**sweep.job, "limits": {"timeout": _time(sweep, "trial_timeout")}},
            measured.workload if measured is not None else workload,
        )
        steps = spec.steps
        if measured is None:
            steps = _steps_until_stopped(run.transaction.state.seed, trial, sweep, spec.steps)
        stopped = {"azureml.early_terminated": "true"} if steps < spec.steps else {}
        members.append(MemberSpec(replace(spec, steps=steps)))
        note: dict[str, Data] = {
            "displayName": trial,
            "computeId": sweep.job.get("computeId"),
            "properties": {"azureml.moduleName": trial, **stopped},
            "tags": {},
            "parameters": values,
            **(measured.note if measured is not None else {}),
        }
        rows.append(JobRow(trial, "Command", None, None, now, note, name))
    timeout = _time(sweep, "timeout")
    length = parse_iso(arm_body.duration(timeout, "limits.timeout")) if timeout else None
    group = GroupSpec(run.name, tuple(members), at_once, any_will_do=True, max_runtime_s=length)
    return group, rows


def _sweep_of_job(properties: Mapping[str, Data]) -> Sweep:
    """Read the sweep of ARM's properties."""
    limits = arm_body.section(properties, "limits")
    early = arm_body.section(properties, "earlyTermination")
    words = {word: limits.get(_camel(word)) for word in _WORDS}
    policy = ("policy_type", "delay_evaluation", "evaluation_interval", "truncation_percentage")
    job = {key: properties[key] for key in ("computeId", "queueSettings") if key in properties}
    trial = arm_body.section(properties, "trial")
    return Sweep(
        arm_body.section(properties, "searchSpace"),
        str(
            arm_body.section(properties, "samplingAlgorithm").get("samplingAlgorithmType")
            or "random"
        ),
        words,
        {word: early.get(_camel(word)) for word in policy} if early else {},
        {**job, "resources": properties.get("resources") or trial.get("resources") or {}},
    )


def _camel(word: str) -> str:
    first, *later = word.split("_")
    return first + "".join(map(str.capitalize, later))


def _limit(sweep: Sweep, name: str) -> int | None:
    value = sweep.limits.get(name)
    if value in (None, ""):
        return None
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    return arm_body.whole_number(number, 1, name)


def _time(sweep: Sweep, name: str) -> str | None:
    return pipeline_nodes.seconds_of(sweep.limits.get(name))


def _steps_until_stopped(seed: str, name: str, sweep: Sweep, steps: int) -> int:
    """Count the steps that a trial runs, each a measurement that the policy can look at."""
    policy = str(sweep.early.get("policy_type") or sweep.early.get("type") or "")
    if not policy:
        return steps
    percentage = sweep.early.get("truncation_percentage")
    share = float(percentage) / 100 if percentage else _STOPPED
    if rng.uniform(f"{seed}/early/{name}") >= share:
        return steps
    delay = int(sweep.early.get("delay_evaluation") or 0)
    return min(steps, max(delay + int(sweep.early.get("evaluation_interval") or 1), 1))


def samples(seed: str, name: str, sweep: Sweep) -> Iterator[dict[str, Any]]:
    """Return values of the search space for each trial; only a grid ends.

    Raises:
        ServiceError: an entry of the search space is of no known kind.
    """
    space = {key: _entry(key, entry) for key, entry in sweep.space.items()}
    if not space:
        raise bad("A sweep job needs a search space.", "InvalidSearchSpace")
    if sweep.algorithm.casefold() == "grid":
        for key, (form, _) in space.items():
            if form != "choice":
                text = f"Grid sampling takes choices: the search space of `{key}` is `{form}`."
                raise bad(text, "InvalidSearchSpace")
        choices = [list(arguments[0]) for _, arguments in space.values()]
        for values in itertools.product(*choices):
            yield dict(zip(space, values, strict=True))
        return
    for number in itertools.count():
        random = rng.generator(f"{seed}/sweep/{name}/{number}")
        yield {key: _sample(random, *entry) for key, entry in space.items()}


def _entry(key: str, entry: Data) -> tuple[str, list[Any]]:
    """Read an entry of a search space: `["uniform", [0, 1]]`, or an object with its `type`."""
    if isinstance(entry, list) and entry:
        form, arguments = str(entry[0]), list(entry[1]) if len(entry) > 1 else []
    elif isinstance(entry, Mapping):
        form = str(entry.get("type"))
        arguments = [entry.get(name) for name in DISTRIBUTIONS.get(form, ())]
    else:
        form, arguments = "choice", [[entry]]
    if form not in DISTRIBUTIONS or len(arguments) != len(DISTRIBUTIONS[form]):
        raise bad(f"The search space of `{key}` is not valid: {entry}.", "InvalidSearchSpace")
    if form == "choice" and not (isinstance(arguments[0], list) and arguments[0]):
        raise bad(f"The search space of `{key}` has no values.", "InvalidSearchSpace")
    return form, arguments


def _sample(random: Random, form: str, arguments: list[Any]) -> Any:
    """Draw a value of a distribution, as reference-yaml-job-sweep defines them."""
    if form == "choice":
        return random.choice(arguments[0])
    if form == "randint":
        return random.randrange(int(arguments[0]))
    first, second, *step = (float(argument) for argument in arguments)
    base = form.removeprefix("q")
    value = (
        random.gauss(first, second) if base.endswith("normal") else random.uniform(first, second)
    )
    if base.startswith("log"):
        value = math.exp(value)
    return round(value / step[0]) * step[0] if step and step[0] else value
