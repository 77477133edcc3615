"""`mlctl apply PLAN`: a saved plan, carried out as it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from mlctl import planfile
from mlctl.applying.lease import LeaseRequest
from mlctl.applying.targets import stale_targets
from mlctl.backends.ports.backend import Backend
from mlctl.cli.change.execution import ApplyArgs, carry_out, refuse
from mlctl.cli.change.verification import (
    ask_policies,
    check_against_files,
    check_alone,
    planned_again,
)
from mlctl.cli.shell import Exit, Session
from mlctl.cli.shell.new_names import write_down
from mlctl.cli.shell.workflow import settle_s
from mlctl.config.variables import UNSET_VARIABLE
from mlctl.dataclasses import dataclass
from mlctl.diagnostics import Report
from mlctl.kinds import Address
from mlctl.pointer import Data
from mlctl.workflow.applying import Execution
from mlctl.workflow.model import PlanOptions
from mlctl.workflow.settling import wait_until_settled


@dataclass(frozen=True, slots=True)
class Against:
    """What a saved plan is held against: files, with flags; without any, those it was made from."""

    paths: Sequence[str]
    options: PlanOptions
    report: Report


def apply_saved(
    session: Session,
    path: Path,
    args: ApplyArgs,
    lease: LeaseRequest | None,
    files: Against,
    *,
    alone: bool,
) -> Exit:
    """Carry out a saved plan, unless the workspace has moved since, or it was refused.

    It is held against the `files`, unless it is to be carried out `alone`.

    Raises:
        PlanFileError: it cannot be used, or not here.
    """
    saved = planfile.load(path)
    with session.backend() as backend:
        if (saved.work.backend, saved.work.scope) != (backend.name, backend.scope):
            made_for = f"the {saved.work.backend} backend, workspace {saved.work.scope}"
            message = f"`{path}` was made for {made_for}, and this is another one"
            raise planfile.PlanFileError(message)
        code = _check_stale(session, saved, backend) or _check_refused(session, saved)
        if code:
            return code
        if alone:
            return _apply_alone(session, backend, saved, path, args, lease, files.report)
        for step in saved.work.steps:
            planfile.check_uploads(step)
        planned = planned_again(session, backend, saved, files.report, files.options, files.paths)
        if planned.refused:
            session.show_findings(planned.refused)
            code = Exit.REFUSED if planned.plan.refusals else Exit.REJECTED
            return refuse(planned.refused, args.output, code)
        check_against_files(saved, planned, backend)
        write_down(planned.plan, backend.location, session.environment)
        if args.check:
            return Exit.OK
        execution = Execution.of(
            planned, parallelism=args.parallelism, lease=lease, paths=[str(path)]
        )
        return carry_out(session, backend, execution, args.output)


def _apply_alone(
    session: Session,
    backend: Backend,
    saved: planfile.SavedPlan,
    path: Path,
    args: ApplyArgs,
    lease: LeaseRequest | None,
    report: Report,
) -> Exit:
    """Carry out a saved plan without the files that it was made from."""
    check_alone(saved, session)
    ask_policies(saved, session, backend, report)
    if report.failed:
        session.show_findings(report)
        return refuse(report, args.output, Exit.REFUSED)
    if args.check:
        return Exit.OK
    execution = Execution(
        work=planfile.fill_secrets(saved.work, _read_document(session)),
        actions=saved.actions,
        parallelism=args.parallelism,
        lease=lease,
        paths=[str(path)],
    )
    return carry_out(session, backend, execution, args.output)


def _check_stale(session: Session, saved: planfile.SavedPlan, backend: Backend) -> Exit:
    """OK where the targets are as they were when the plan was made; else those are named."""
    stale: list[Address] = stale_targets(saved.work, backend)
    if stale and wait_until_settled(
        backend, backend.read(stale), timeout=settle_s(session), note=session.note
    ):
        stale = stale_targets(saved.work, backend)  # what is in motion shows less than there is
    if not stale:
        return Exit.OK
    session.say("ERROR: Saved plan is stale. These have changed since the plan was made:")
    for address in stale:
        session.say(f"  {address}")
    session.say("Make a new plan: mlctl plan PATH... --out FILE")
    return Exit.STALE


def _check_refused(session: Session, saved: planfile.SavedPlan) -> Exit:
    """OK where the plan was not refused when it was made; else why it was."""
    diagnostics = saved.document["diagnostics"]
    errors = [diagnostic for diagnostic in diagnostics if diagnostic["severity"] == "error"]
    if not errors:
        return Exit.OK
    session.say("ERROR: this plan was refused when it was made:")
    for error in errors:
        session.say(f"  {error['code']}: {error['summary']}")
    return Exit.REFUSED if saved.document.get("refused") else Exit.REJECTED


def _read_document(session: Session) -> planfile.ReadDocument:
    """Reads documents as the plan did: with the overlays and variables of the project."""
    report = Report(select=frozenset({UNSET_VARIABLE.code}))
    loader = session.loader(report)

    def read(file: str, index: int) -> Mapping[str, Data] | None:
        document = loader.document(file, index)
        for unset in report:
            raise planfile.PlanFileError(f"`{file}`: {unset.message}", unset.hint or "")
        return document.data if document else None

    return read
