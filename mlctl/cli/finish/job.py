"""`mlctl finish -f`: a command job, whose runs go on from each other's checkpoints."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlctl.backends.ports.backend import Backend
from mlctl.cli.az import submit
from mlctl.cli.finish.offer import Offer
from mlctl.cli.finish.options import OrderArgs, policies_of
from mlctl.cli.forecast.args import FileArgs, weather_of
from mlctl.cli.forecast.output import refusals
from mlctl.cli.forecast.subject import stated_prices, with_live
from mlctl.cli.local import workload_flags
from mlctl.cli.local.workload_flags import TrainingFlags
from mlctl.cli.shell import Session
from mlctl.config import graph as graphs
from mlctl.dataclasses import replace
from mlctl.finishing import begin
from mlctl.forecast.fields import ForecastError
from mlctl.forecast.training.reading import TrainingSubject, TrainingWanted, read
from mlctl.forecast.training.recovery import RecoveryStudy, as_batch
from mlctl.kinds.resource import Resource

if TYPE_CHECKING:
    from mlctl.finishing.begin import Option
    from mlctl.simulator.engine.model import SimulationSettings


def offered(
    session: Session,
    order_args: OrderArgs,
    work: TrainingFlags,
    prices: FileArgs,
    settings: SimulationSettings,
    deadline_s: float | None,
) -> Offer | None:
    """The job in a file as it will be done; None where the file is not valid, which is said.

    Raises:
        ForecastError: it is no job that can go on from a checkpoint, or none that can be forecast.
        ServiceError: the workspace cannot be read.
    """
    workload = workload_flags.workload_of(work)
    output, _, resumes = str(order_args.checkpoint).partition(":")
    with refusals(), session.backend() as backend:
        flags = submit.JobArgs(**_ONLY | {"file": order_args.file})
        resources = submit.resources(session, backend, flags)
        if resources is None:
            return None
        job, assets = resources
        submit.refuse(job)
        _check(job, output, resumes or output)
        graph = with_live(graphs.build([job, *assets], backend.scope), backend, job.address)
        stated = stated_prices(session, prices)
        where = f"{backend.scope.resource_group}/{backend.scope.workspace}"
        subject = read(graph, TrainingWanted(workload, settings, stated, where))
        body = submit.body(job, backend.scope)["properties"]
    with refusals():
        option, compared = _compared(order_args, subject, deadline_s)
    cluster = subject.cluster.address.name if subject.cluster is not None else ""
    order = begin.order_of(
        option,
        deadline_s,
        workload,
        name=order_args.name or f"{_stem(order_args)}-{secrets.token_hex(3)}",
        endpoint="",
        deployment=cluster,
        dedicated=order_args.sure or (f"{cluster}-dedicated" if cluster else ""),
        makes_twin=_makes_twin(order_args, subject),
        inputs={},
        files=(),
        job=body,
        checkpoint=output,
        resumes=resumes or output,
        **order_args.limits,
    )

    def prepare(backend: Backend) -> None:
        for asset in assets:
            submit.register(backend, asset)

    return Offer(order, compared, prepare)


def _compared(
    order_args: OrderArgs, subject: TrainingSubject, deadline_s: float | None
) -> tuple[Option, list[dict[str, Any]]]:
    """The best option, and all of them as data."""
    weather = weather_of(order_args.weather).processes()
    scenario = as_batch(subject.scenario).under(weather)
    studies = [
        RecoveryStudy(scenario, replace(policy, resumes=True), job=subject.scenario.job)
        for policy in policies_of(order_args, deadline_s)
    ]
    options = begin.ranked(studies, deadline_s, makes_twin=_makes_twin(order_args, subject))
    return options[0], [option.document() for option in options]


def _makes_twin(order_args: OrderArgs, subject: TrainingSubject) -> bool:
    return order_args.sure is None and subject.cluster is not None


_ONLY: dict[str, Any] = dict.fromkeys(submit.JobArgs.__dataclass_fields__)


def _check(job: Resource, output: str, resumes: str) -> None:
    """Refuse a job of which no run can go on from the checkpoint of another one."""
    outputs, inputs = job.get("outputs") or {}, job.get("inputs") or {}
    if output not in outputs:
        listed = ", ".join(map(str, outputs)) or "none"
        text = f"the job has no output `{output}` for its checkpoints: it has {listed}"
        raise ForecastError(text, job.label(("outputs",)))
    declared = outputs[output] or {}
    if declared.get("mode") == "upload":
        text = (
            f"`{output}` is uploaded when a run ends, so that a lost run leaves no checkpoint:"
            " set mode: rw_mount"
        )
        raise ForecastError(text, job.label(("outputs", output, "mode")))
    if declared.get("path"):
        text = f"every run has a folder of its own for `{output}`: leave its path out"
        raise ForecastError(text, job.label(("outputs", output, "path")))
    entry = inputs.get(resumes)
    if not isinstance(entry, dict) or str(entry.get("type") or "uri_folder") != "uri_folder":
        text = (
            f"the job has no input `{resumes}` of the type uri_folder, from which a run goes on:"
            " declare it, with an empty folder for the first run, or name another one:"
            f" --checkpoint {output}:INPUT"
        )
        raise ForecastError(text, job.label(("inputs",)))


def _stem(order_args: OrderArgs) -> str:
    """What a job is called after its file."""
    return "job" if order_args.file in (None, "-") else Path(str(order_args.file)).stem
