"""`mlctl plan`: what would change, and why."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from mlctl import planfile
from mlctl.backends.ports.backend import Backend, Live
from mlctl.cli.change import replacing
from mlctl.cli.change.pruning import PruneArgs
from mlctl.cli.change.replacing import ReplaceStrategy, Strategy, with_new_names
from mlctl.cli.files.validate import Paths
from mlctl.cli.forecast import of_plan as plan_forecast
from mlctl.cli.forecast.of_plan import PlanForecast, PlanForecastArgs
from mlctl.cli.local.workload_flags import BatchFlags
from mlctl.cli.parser.arguments import InvalidValue, UsageError
from mlctl.cli.shell.command import command
from mlctl.cli.shell.exits import Exit
from mlctl.cli.shell.rule_choice import Ignore, Select, Strict, new_report
from mlctl.cli.shell.session import Session
from mlctl.config.graph import Graph
from mlctl.diagnostics import Report
from mlctl.inert import as_json
from mlctl.kinds.address import Address
from mlctl.kinds.values import moving, state
from mlctl.planning.blue_green.successors import NONE, Successors
from mlctl.planning.live_state import LiveState
from mlctl.planning.model import Plan
from mlctl.planning.ownership.owner import NOBODY
from mlctl.planning.refresh import refresh
from mlctl.planning.unfinished.owed import Owed
from mlctl.pointer import Data
from mlctl.project.steps import Planned, plan_loaded
from mlctl.render.plan.owed import notes
from mlctl.render.terminal.terminal import clean
from mlctl.service_errors import TIMED_OUT, Permanent

_POLL, _LONGEST = 5.0, 3600.0  # seconds: between two looks at an operation, and at most

Target = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        metavar="ADDRESS",
        help="Only this resource and what it needs: compute/NAME (repeatable).",
    ),
]


class ApplyFormat(StrEnum):
    """Output formats of apply and destroy."""

    HUMAN = "human"
    JSON = "json"


class PlanFormat(StrEnum):
    """Output formats of plan."""

    HUMAN = "human"
    JSON = "json"
    MARKDOWN = "markdown"


def load_and_plan(
    session: Session,
    backend: Backend,
    paths: Sequence[str],
    report: Report,
    *,
    destroying: bool = False,
    targets: Sequence[str] = (),
    settled: bool = False,
    comparing: bool = False,
    pruning: PruneArgs = PruneArgs(),
    strategy: Strategy = Strategy.IN_PLACE,
    resuming: bool = False,
) -> Planned | None:
    """The plan for the files; None when the files have errors, which are printed.

    If `settled`, operations that go on on what they declare are waited for. If only `comparing`,
    the plan is no project's, and its policies about changes are not asked. If `resuming`, it is
    about what an apply that did not end owes, and what that needs.
    """
    once = partial(
        _plan_once,
        session,
        backend,
        paths,
        destroying=destroying,
        targets=targets,
        settled=settled,
        comparing=comparing,
        pruning=pruning,
        resuming=resuming,
    )
    if strategy is Strategy.IN_PLACE:
        return once(report)
    if destroying or targets:
        flag = "--destroy deletes" if destroying else "--target plans a part of"
        raise UsageError(f"{flag} what the files declare, and blue-green renames in all of them")
    return with_new_names(session, backend, paths, report, once)


def _plan_once(
    session: Session,
    backend: Backend,
    paths: Sequence[str],
    report: Report,
    successors: Successors = NONE,
    *,
    destroying: bool,
    targets: Sequence[str],
    settled: bool,
    comparing: bool,
    pruning: PruneArgs,
    resuming: bool,
) -> Planned | None:
    """As `load_and_plan`, once; with `successors` again, which is not told again."""
    ownership = NOBODY if comparing else pruning.ownership(session)
    loaded = session.loader(report, scope=backend.scope, planning=not destroying).load(paths)
    for note in loaded.notes if not successors else ():
        session.note(clean(f"note: {note}"))
    if len(report) and (report.failed or not (session.quiet or successors)):
        session.show(report)
    if report.failed:
        return None
    prune = pruning.chosen(session, backend.scope, targets, loaded)
    wanted = [_address(loaded.graph, target) for target in targets]
    of = ownership.project if prune else None
    owed = () if destroying or comparing else tuple(session.journals.owed().values())
    live_state = (
        refresh_settled(session, backend, loaded.graph, of, successors, owed)
        if settled
        else refresh(
            loaded.graph,
            backend,
            destroying=destroying,
            of=of,
            superseded=successors.keys(),
            owed=owed,
        )
    )
    if resuming:
        wanted = [
            one for owing in live_state.owed.values() for one in owing.missing(live_state.live)
        ]
    planned = plan_loaded(
        loaded.graph if wanted or not resuming else Graph({}, ()),
        live_state,
        backend,
        report,
        None if comparing else session.policies,
        destroying=destroying,
        targets=wanted,
        ownership=ownership,
        prune=prune,
        successors=successors,
    )
    for note in notes(owed, live_state, planned.plan) if not successors else ():
        session.note(note)
    return planned


def refresh_settled(
    session: Session,
    backend: Backend,
    graph: Graph,
    of: str | None = None,
    successors: Successors = NONE,
    owed: Collection[Owed] = (),
) -> LiveState:
    """The live state, once no operation goes on on a resource of the graph, or of a project.

    Raises:
        ServiceError: the backend cannot be read, or an operation takes too long.
    """
    read = partial(refresh, graph, backend, of=of, superseded=successors.keys(), owed=owed)
    live_state = read()
    ours = {*graph.resources, *live_state.owed}
    declared = {one: live for one, live in live_state.live.items() if one in ours}
    declared |= {one.address: one for one in live_state.owned}
    waited = wait_until_settled(session, backend, declared)
    return read() if waited else live_state


def wait_until_settled(session: Session, backend: Backend, found: Mapping[Address, Live]) -> bool:
    """Wait for the operations that go on on what was found; whether there were any.

    Raises:
        ServiceError: the backend cannot be read, or an operation takes too long.
    """
    going = _in_motion(found)
    for address, now in going.items():
        session.note(clean(f"{address} is {now}: waiting until that has ended..."))
    waited, longest = 0.0, session.options.timeout or _LONGEST
    while going:
        if waited >= longest:
            address, now = next(iter(going.items()))
            raise Permanent(TIMED_OUT, f"{address} is still {now} after {waited:g} seconds")
        backend.wait(_POLL)
        waited += _POLL
        going = _in_motion(backend.read(going.keys()))
    return waited > 0.0


def _in_motion(found: Mapping[Address, Live]) -> dict[Address, str]:
    """The states of those on which an operation goes on."""
    return {address: state(live.body) for address, live in found.items() if moving(live.body)}


def show_plan(
    session: Session,
    plan: Plan,
    output: ApplyFormat | PlanFormat,
    forecast: dict[str, Data] | None = None,
    patch: str = "",
) -> None:
    """The plan on stdout, and its forecast where one was asked for; first what files will say."""
    if PlanFormat(output) is PlanFormat.JSON:
        from mlctl.render.plan import plan_json

        more: dict[str, Data] = {} if forecast is None else {"forecast": forecast}
        more |= {"patch": patch} if patch else {}
        session.out_data(as_json({**plan_json.document(plan), **more}, indent=2))
    else:
        if patch:
            from mlctl.render.plan import patch as render

            session.out(render.shown(patch, markdown=output is PlanFormat.MARKDOWN))
        session.out(_rendered(session, plan, PlanFormat(output)))
        if forecast is not None:
            plan_forecast.show(session, forecast, markdown=output is PlanFormat.MARKDOWN)


def _rendered(session: Session, plan: Plan, output: PlanFormat) -> str:
    if output is PlanFormat.MARKDOWN:
        from mlctl.render.plan import markdown

        return markdown.plan(plan)
    from mlctl.render.plan import blocks as render

    color = session.color(sys.stdout)
    return render.human(plan, color=color, width=session.width, verbose=session.flags.verbose)


def register(app: typer.Typer, verb: str) -> None:
    """Add the command."""
    command(app, verb)(plan)


def plan(
    session: Session,
    paths: Paths,
    output: Annotated[
        PlanFormat,
        typer.Option(
            "--output", "-o", help="How the plan is written; markdown is for a pull request."
        ),
    ] = PlanFormat.HUMAN,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Save the plan for `mlctl apply FILE`."),
    ] = None,
    detailed_exitcode: Annotated[
        bool,
        typer.Option(
            "--detailed-exitcode",
            help="Exit with 2 when there are changes (or something could not be compared), else 0.",
        ),
    ] = False,
    destroy: Annotated[
        bool, typer.Option("--destroy", help="Plan to delete what the files declare.")
    ] = False,
    target: Target = None,
    pruning: PruneArgs = PruneArgs(),
    replace_strategy: ReplaceStrategy = Strategy.IN_PLACE,
    write: Annotated[
        bool,
        typer.Option("--write", help="With blue-green: write the new names into the files now."),
    ] = False,
    ignore: Ignore = None,
    select: Select = None,
    strict: Strict = False,
    *,
    forecast: PlanForecastArgs,
    work: BatchFlags,
) -> Exit:
    """Show what apply would change, and why; nothing is written to the workspace.

    Exits with 1 when the files have errors or the backend is predicted to reject the plan, and with
    5 when the project forbids it.
    """
    asked = PlanForecast.of(forecast, work, destroying=destroy)
    report = new_report(session, ignore, select, strict=strict)
    if destroy and pruning.prune:
        raise UsageError("--destroy deletes what the files declare, --prune what they do not")
    if write and replace_strategy is Strategy.IN_PLACE:
        raise UsageError("--write writes new names, which --replace-strategy blue-green chooses")
    if out is not None and replace_strategy is Strategy.BLUE_GREEN and not write:
        raise UsageError(
            "a saved plan writes no files when it is applied, and blue-green writes new names into"
            " them: add --write, and commit the files with the plan"
        )
    with session.backend() as backend:
        planned = load_and_plan(
            session,
            backend,
            paths,
            report,
            destroying=destroy,
            targets=target or (),
            pruning=pruning,
            strategy=replace_strategy,
        )
        if planned is None:
            return Exit.ERROR
        told = asked.document(planned.plan, planned.graph, backend) if asked is not None else None
    show_plan(session, planned.plan, output, told, replacing.patch(planned))
    if planned.texts and not planned.refused:
        if write:
            replacing.write(session, planned.texts)
            if out is None:
                session.note(replacing.ORDINARY)
        else:
            session.note(
                "\nThe files are as they were: --write writes the new names, and so does apply."
            )
    if out is not None:
        made_with = session.settings.project.document
        project_file = made_with.source.name if made_with else None
        planfile.save(planned.plan, planned.work, out, project_file)
        session.note(f"\nSaved the plan to: {out}")
        session.note(f"\nTo perform exactly these actions, run:\n    mlctl apply {out}")
    if planned.plan.refusals:
        return Exit.REFUSED
    if planned.refused:
        return Exit.ERROR
    differs = not planned.plan.empty or planned.plan.in_motion
    return Exit.CHANGES if detailed_exitcode and differs else Exit.OK


def _address(graph: Graph, text: str) -> Address:
    try:
        address = Address.parse(text)
    except ValueError as error:
        raise InvalidValue(str(error), flag="--target") from None
    if not graph.declared(address):
        declared = ", ".join(map(str, sorted(graph.resources)[:5]))
        raise InvalidValue(
            f"`{text}` is not declared in these files; they declare {declared}",
            flag="--target",
        )
    return address
