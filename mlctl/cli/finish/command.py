"""`mlctl finish`: run a job until it is done, late or over budget."""

from __future__ import annotations

import json
from typing import Annotated

from mlctl.cli.finish import offers, options, run
from mlctl.cli.forecast.args import CloudArgs, FileArgs, refusals, settings_of
from mlctl.cli.local.flags import BatchFlags, DelayArgs, TrainingFlags
from mlctl.cli.shell import Exit, Group, Session, UsageError, flag
from mlctl.finishing.progress import Progress
from mlctl.render import finish as render


def finish(
    session: Session,
    paths: options.FilesToApply = None,
    *,
    order_args: options.OrderArgs,
    work: BatchFlags,
    training: TrainingFlags,
    prices: FileArgs,
    delays: DelayArgs,
    cloud: CloudArgs,
    report_args: options.ReportArgs,
    yes: Annotated[bool, flag("--yes", "-y")] = False,
) -> Exit:
    """Run a job until it is done, even if its nodes are preempted."""
    if paths:
        if order_args.file is not None:
            raise UsageError("PATH and -f FILE name different jobs: give one of them.")
        order_args = offers.set_target_from_files(session, paths, order_args)
    if (order_args.endpoint is None) is (order_args.file is None):
        raise UsageError("name a job: -n ENDPOINT, files that declare one, or -f FILE.")
    if order_args.checkpoint is not None and order_args.file is None:
        raise UsageError("--checkpoint OUTPUT needs a command job: name it with -f FILE.")
    options.check_args(order_args)
    deadline_s = (
        options.parse_deadline(session, order_args.deadline) if order_args.deadline else None
    )
    with refusals():
        settings = settings_of(delays, cloud)
    request = options.FinishFlags(order_args, work, training, prices, settings, deadline_s)
    if paths:
        offers.check_duration(work, training)
        if order_args.input is not None:
            offers.find_local_inputs(session, order_args.input, work)
        code = _apply_files(session, paths, report_args.output, yes=yes)
        if code is not Exit.OK:
            return code
    offer = _build_offer(session, request)
    return Exit.ERROR if offer is None else run.begin(session, offer, report_args, yes=yes)


def _build_offer(session: Session, request: options.FinishFlags) -> options.Offer | None:
    """Build the offer for the job in a file, of a pipeline component, or in shards."""
    if request.order.file is not None:
        return offers.offer_of_file(session, request)
    deployment = offers.find_deployment(session, request.order)
    offer = offers.offer_of_component(session, request, deployment)
    return offer or offers.offer_of_endpoint(session, request)


def _apply_files(
    session: Session, paths: list[str], output: options.FinishFormat, *, yes: bool
) -> Exit:
    """Apply the files, after confirmation."""
    from mlctl.cli.change import apply
    from mlctl.cli.change.execution import ApplyArgs
    from mlctl.cli.change.planning import PruneArgs

    args = ApplyArgs(yes=yes, output=output)
    return apply.apply(session, apply.WhatArgs(), PruneArgs(), args, paths)


def resume(session: Session, name: options.Name, *, report_args: options.ReportArgs) -> Exit:
    """Resume a job whose controller has stopped, from any machine."""
    with run.hold_lease(session, name) as backend:
        return run.carry_out(session, backend, name, report_args)


def cancel(
    session: Session, name: options.Name, yes: Annotated[bool, flag("--yes", "-y")] = False
) -> Exit:
    """Cancel a job: stop its runs and remove the resources created for it."""
    if not (yes or session.confirmed(f"Cancel `{name}`?")):
        return Exit.CANCELLED
    with run.hold_lease(session, name) as backend:
        controller = run.build_controller(backend, name)
        controller.cancel()
    session.out(render.summary(run.summarize(controller.progress)))
    return Exit.OK


def show(session: Session, name: options.Name, output: options.Show = "human") -> None:
    """Show the state of a job: shards, runs by tier, and cost so far."""
    with session.backend() as backend:
        records, now = (
            run.read_records(run.get_journals(backend), name),
            run.get_cloud(backend).now(),
        )
        data, progress = run.describe(records, now), Progress.from_records(records)
        if progress.outcome is None:
            run_ = progress.under_way
            state = run.get_cloud(backend).find(run_.name) if run_ is not None else None
            data |= run.summarize(progress, state)
            coming = run.read_outlook(
                run.build_study(backend, progress.order), progress, now, state
            )
            data["outlook"] = coming._asdict() if coming is not None else None
    match output:
        case "json":
            session.out_data(json.dumps(data, indent=2))
        case "html":
            session.out_data(render.page(data))
        case "human":
            session.out(render.human(data))


def list_(session: Session, output: options.Events = "human") -> None:
    """List the finish jobs of the workspace, running and ended."""
    with session.backend() as backend:
        journals, now = run.get_journals(backend), run.get_cloud(backend).now()
        listed = [run.describe(run.read_records(journals, name), now) for name in journals.names()]
    if output == "json":
        session.out_data(json.dumps(listed, indent=2))
    elif not listed:
        session.note(
            "No jobs. To begin one: mlctl finish -n ENDPOINT --input FOLDER --seconds-per-file S"
        )
    for data in listed if output == "human" else ():
        session.out(render.summary(data))


def log(session: Session, name: options.Name, output: options.Events = "human") -> None:
    """Print the journal of a job: each step and its time."""
    with session.backend() as backend:
        records = run.read_records(run.get_journals(backend), name)
    for record in records:
        if output == "json":
            session.out_data(json.dumps(record))
        else:
            session.out(render.event(record, records[0]["at"]))


COMMANDS = {
    "finish": Group(
        "Carry out jobs to their end.",
        {"show": show, "list": list_, "log": log, "resume": resume, "cancel": cancel},
        finish,
    )
}
