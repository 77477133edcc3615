"""How the az-style commands that write plan, show, apply and print."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from mlctl.applying.outcome import Outcome
from mlctl.backends.ports.backend import Backend, Live, SupportsRegistries
from mlctl.cli.az.args import WriteArgs
from mlctl.cli.shell import Exit, Session
from mlctl.cli.shell.output import print_plan
from mlctl.cli.shell.workflow import perform, settle_s
from mlctl.config.loader import LoadedConfig
from mlctl.dataclasses import replace
from mlctl.kinds import Resource, kind_of
from mlctl.planning.diff import with_secrets_again
from mlctl.planning.model import Action, Plan
from mlctl.planning.refresh import refresh
from mlctl.pointer import dotted
from mlctl.render.apply import outcome
from mlctl.render.cloud import resources
from mlctl.workflow.applying import Execution
from mlctl.workflow.model import Planned, refresh_settled
from mlctl.workflow.planning import plan_loaded


def plan_and_apply(
    session: Session,
    backend: Backend,
    loaded: LoadedConfig,
    args: WriteArgs,
    *,
    silent: bool = False,
    edited: bool = False,
) -> Exit:
    """Plan what was loaded, show the plan, apply it, and print what was written unless `silent`.

    `edited`: what was loaded are edited live resources, with all their tags.
    """
    report = loaded.report
    if len(report) and (report.failed or not session.quiet):
        session.show(report)
    if report.failed:
        return Exit.ERROR
    planned = _plan(session, backend, loaded, args, edited=edited)
    plan = planned.plan
    if args.dry_run:
        print_plan(session, plan, args.output)
        return why_not(plan)
    if _refused(session, plan, args):
        return why_not(plan) or Exit.ERROR
    if plan.empty:
        session.note("No changes.")
    elif any(change.action is not Action.CREATE for change in plan.pending):
        session.show_plan(plan, quiet=not session.has_notes)
    elif not session.quiet:
        session.show_findings(plan.warnings)
    code = carry_out(session, backend, planned, args)
    if code is Exit.OK and not args.no_wait and not silent:
        _print_written(session, backend, plan, loaded.resources, args)
    return code


def _plan(
    session: Session, backend: Backend, loaded: LoadedConfig, args: WriteArgs, *, edited: bool
) -> Planned:
    """Plan what was loaded, which belongs to no project."""
    graph = loaded.graph
    entries = session.journals.changes().values()
    unfinished = [entry for entry in entries if entry.related & graph.resources.keys()]
    read, timeout = partial(refresh, unfinished=unfinished), settle_s(session)
    if args.dry_run:
        live_state = read(graph, backend)
    else:
        live_state = refresh_settled(graph, backend, timeout=timeout, note=session.note, read=read)
    ownership = replace(session.settings.project.ownership(tagged=False), all_tags=edited)
    planned = plan_loaded(
        graph, live_state, backend, loaded.report, session.policies, ownership=ownership
    )
    changes = tuple(map(with_secrets_again, planned.plan.changes))
    return replace(planned, plan=replace(planned.plan, changes=changes))


def why_not(plan: Plan) -> Exit:
    """Return the exit code of a plan that cannot be applied; OK if it can."""
    if plan.refusals:
        return Exit.REFUSED
    return Exit.ERROR if plan.rejections else Exit.OK


def _refused(session: Session, plan: Plan, args: WriteArgs) -> bool:
    """Whether the plan would be rejected, or replaces something without --replace; reports it."""
    if plan.errors:
        session.show_findings(plan.errors)
        return True
    replaced = [change for change in plan.changes if change.action is Action.REPLACE]
    if not replaced or args.replace:
        return False
    session.show_plan(plan)
    for change in replaced:
        names = ", ".join(
            f"`{dotted(field.at)}`" for field in change.fields if field.forces_replacement
        )
        why = f"{names} cannot be changed in place" if names else f"{change.because} is replaced"
        session.say(
            f"ERROR: {change.address} exists, and {why}.\n"
            "Pass --replace to delete it and create it again; what runs on it is lost."
        )
    return True


def carry_out(session: Session, backend: Backend, planned: Planned, args: WriteArgs) -> Exit:
    """Apply a plan; report what failed."""
    paths = [args.file] if args.file else []
    ended = perform(session, backend, Execution.of(planned, wait=not args.no_wait, paths=paths))
    for line in _errors(ended):
        session.say(line)
    return Exit.OK if ended.complete else Exit.ERROR


def _errors(ended: Outcome) -> Iterable[str]:
    """Format each failure as az does, with hints; skipped steps; and whether it was stopped."""
    for event in ended.failed:
        if event.error is not None:
            first, *details = outcome.error_lines(event.error)
            yield "\n  ".join([f"ERROR: {first}", *details])
    for event in ended.skipped:
        if event.because is not None:
            yield f"{event.step.target}: skipped because of {event.because.target}"
    for event in ended.unverified:
        yield f"WARNING: {event.step.target} was written, but could not be read back: {event.error}"
    if ended.cancelled:
        yield "ERROR: stopped before the end. Run the same command again to do the rest."


def _print_written(
    session: Session, backend: Backend, plan: Plan, resources_: Iterable[Resource], args: WriteArgs
) -> None:
    """Print what was written, in its live state."""
    documents = {id(resource.document) for resource in resources_}
    addresses = [
        change.address
        for change in plan.changes
        if change.resource is not None
        and change.resource.owner is None
        and id(change.resource.document) in documents
    ]
    live = backend.read(addresses)
    print_live(session, backend, [live[address] for address in addresses if address in live], args)


def print_live(session: Session, backend: Backend, live: Iterable[Live], args: WriteArgs) -> None:
    """Print live resources: one as an object, several as a list."""
    resources_ = list(live)
    if args.registry_name is not None and isinstance(backend, SupportsRegistries):
        registry = backend.registry(args.registry_name)  # which knows the ids of its assets
        resources_ = [registry.read(resource.address) for resource in resources_]
    bodies = [resources.printed(resource, backend.scope) for resource in resources_]
    columns = kind_of(resources_[0].address).az.columns if resources_ else None
    data = bodies[0] if len(bodies) == 1 else bodies
    args.print(session, data, columns)
