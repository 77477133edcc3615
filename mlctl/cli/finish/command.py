"""`mlctl finish`: runs of a job one after the other, until it is done, late or too dear."""

from __future__ import annotations

import json
from typing import Annotated

from mlctl.cli.finish import batch, job, run
from mlctl.cli.finish.offer import Offer, Request
from mlctl.cli.finish.options import (
    Events,
    FilesToApply,
    FinishFormat,
    Name,
    OrderArgs,
    Show,
    ShowFormat,
    TellArgs,
    check,
    deadline_of,
)
from mlctl.cli.finish.records import (
    cloud_of,
    document,
    journals_of,
    records_of,
    summary,
)
from mlctl.cli.finish.watching import outlook_of, study_of
from mlctl.cli.forecast.args import CloudArgs, FileArgs, settings_of
from mlctl.cli.forecast.output import refusals
from mlctl.cli.local.flag_text import DelayArgs
from mlctl.cli.local.workload_flags import BatchFlags, TrainingFlags
from mlctl.cli.shell import Exit, Group, Session, UsageError, flag
from mlctl.finishing.progress import Progress
from mlctl.render import finish as render


def finish(
    session: Session,
    paths: FilesToApply = None,
    *,
    order_args: OrderArgs,
    work: BatchFlags,
    training: TrainingFlags,
    prices: FileArgs,
    delays: DelayArgs,
    cloud: CloudArgs,
    tell_args: TellArgs,
    yes: Annotated[bool, flag("Do not ask.", "--yes", "-y")] = False,
) -> Exit:
    """Bring a job to its end, whatever becomes of its nodes.

    Shows the forecast of what it will do, asks, and then stays: it submits shards of the files one
    after the other, again where a run is lost, on dedicated nodes where the policy says so. A
    journal in the workspace says what comes next before it is done: after a crash, `mlctl finish
    resume NAME` goes on, on any machine. Exits with 11 where the job is done late, 12 where it gets
    too dear, 13 where it cannot be done.

    A run of a command job (-f FILE --checkpoint OUTPUT) goes on from the checkpoint of the one
    before it. Without a checkpoint, and of a pipeline, a sweep or a deployment of a pipeline
    component, a run does all, and is submitted again as a whole: --steps and --seconds-per-step are
    then those of each step or trial.

    Files that are named are first applied, as by `mlctl apply`: their plan is shown, and it asks.
    The job is then that of their only batch deployment, unless -n names another one.
    """
    if paths:
        if order_args.file is not None:
            raise UsageError("PATH and -f FILE are different jobs: give one of them.")
        order_args = batch.of_files(session, paths, order_args)
    if (order_args.endpoint is None) is (order_args.file is None):
        raise UsageError("give -n ENDPOINT, files with one, or -f FILE of a job.")
    if order_args.checkpoint is not None and order_args.file is None:
        raise UsageError("--checkpoint OUTPUT is of a command job: give its -f FILE.")
    check(order_args)
    deadline_s = deadline_of(session, order_args.deadline) if order_args.deadline else None
    with refusals():
        settings = settings_of(delays, cloud)
    request = Request(order_args, work, training, prices, settings, deadline_s)
    if paths:
        if order_args.input is not None:
            batch.inputs_here(session, order_args.input, work)
        code = _applied(session, paths, tell_args.output, yes=yes)
        if code is not Exit.OK:
            return code
    offer = _offered(session, request)
    return Exit.ERROR if offer is None else run.begin(session, offer, tell_args, yes=yes)


def _offered(session: Session, request: Request) -> Offer | None:
    """What is to be done of the job that flags name: of a file, of a component, or in shards."""
    if request.order.file is not None:
        return job.offered(session, request)
    deployment = batch.deployment_of(session, request.order)
    offer = job.offered_component(session, request, deployment)
    return offer or batch.offered(session, request)


def _applied(session: Session, paths: list[str], output: FinishFormat, *, yes: bool) -> Exit:
    """Make the workspace as the files say, once somebody has agreed to their plan."""
    from mlctl.cli.change import apply
    from mlctl.cli.change.execution import ApplyArgs, ApplyFormat
    from mlctl.cli.change.planning import PruneArgs

    args = ApplyArgs(yes=yes, output=ApplyFormat(output.value))
    return apply.apply(session, apply.WhatArgs(), PruneArgs(), args, paths)


def resume(session: Session, name: Name, *, tell_args: TellArgs) -> Exit:
    """Go on with a job whose controller has ended, from any machine.

    Exits with 10 where another controller is at work.
    """
    with run.held(session, name) as backend:
        return run.carry_out(session, backend, name, tell_args)


def cancel(
    session: Session,
    name: Name,
    yes: Annotated[bool, flag("Do not ask.", "--yes", "-y")] = False,
) -> Exit:
    """Cancel what runs of a job, remove what was made for it, and end it."""
    if not (yes or session.confirmed(f"Cancel `{name}`?")):
        return Exit.CANCELLED
    with run.held(session, name) as backend:
        controller = run.controller_of(backend, name)
        controller.cancel()
    session.out(render.summary(summary(controller.progress)))
    return Exit.OK


def show(session: Session, name: Name, output: Show = ShowFormat.HUMAN) -> Exit:
    """Show how a job stands: shards, runs by tier, what is spent."""
    with session.backend() as backend:
        records, now = records_of(journals_of(backend), name), cloud_of(backend).now()
        data, progress = document(records, now), Progress.of(records)
        if progress.outcome is None:
            run_ = progress.under_way
            look = cloud_of(backend).find(run_.name) if run_ is not None else None
            data |= summary(progress, look)
            coming = outlook_of(study_of(backend, progress.order), progress, now, look)
            data["outlook"] = coming._asdict() if coming is not None else None
    match output:
        case ShowFormat.JSON:
            session.out_data(json.dumps(data, indent=2))
        case ShowFormat.HTML:
            session.out_data(render.page(data))
        case ShowFormat.HUMAN:
            session.out(render.human(data))
    return Exit.OK


def list_(session: Session, output: Events = FinishFormat.HUMAN) -> Exit:
    """List the jobs of the workspace that are being finished, or were."""
    with session.backend() as backend:
        journals, now = journals_of(backend), cloud_of(backend).now()
        listed = [document(records_of(journals, name), now) for name in journals.names()]
    if output is FinishFormat.JSON:
        session.out_data(json.dumps(listed, indent=2))
    elif not listed:
        session.note("There are none: mlctl finish -n ENDPOINT --input FOLDER begins one.")
    for data in listed if output is FinishFormat.HUMAN else ():
        session.out(render.summary(data))
    return Exit.OK


def log(session: Session, name: Name, output: Events = FinishFormat.HUMAN) -> Exit:
    """Print the journal of a job: what was done, and when."""
    with session.backend() as backend:
        records = records_of(journals_of(backend), name)
    for record in records:
        if output is FinishFormat.JSON:
            session.out_data(json.dumps(record))
        else:
            session.out(render.event(record, records[0]["at"]))
    return Exit.OK


COMMANDS = {
    "finish": Group(
        "Jobs brought to their ends.",
        {"show": show, "list": list_, "log": log, "resume": resume, "cancel": cancel},
        finish,
    )
}
