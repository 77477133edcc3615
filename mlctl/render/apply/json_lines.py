"""An apply for programs: one JSON object per line, as by `terraform apply -json`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from mlctl.applying.events import StepEvent, StepState
from mlctl.applying.outcome import Outcome, collect
from mlctl.backends.ports.lease import LeaseHeld
from mlctl.dataclasses import dataclass, field
from mlctl.diagnostics import Diagnostic, Report
from mlctl.inert import as_json
from mlctl.kinds import Address
from mlctl.planning.model import Action
from mlctl.planning.steps.work import PlanStep, StepRole, Work
from mlctl.pointer import Data
from mlctl.render.apply.leases import facts
from mlctl.render.apply.outcome import accepted, error_lines
from mlctl.render.apply.step_text import failed, line
from mlctl.render.findings import machine
from mlctl.version import __version__

UI_VERSION = "1.0"
_NAMES = {
    Action.NO_OP: "noop",
    Action.CREATE: "create",
    Action.UPDATE: "update",
    Action.REPLACE: "replace",
    Action.DELETE: "delete",
}
_HOOK_ACTIONS = {StepRole.CREATE: "create", StepRole.DELETE: "delete"}  # "update" for the others


@dataclass(slots=True)
class MessageStream:
    """Writes messages; `now` returns the time as RFC 3339, `clock` returns seconds."""

    write: Callable[[str], object]
    now: Callable[[], str]
    clock: Callable[[], float]
    _began: dict[int, float] = field(default_factory=dict)

    def write_message(self, kind: str, message: str, level: str = "info", **rest: Data) -> None:
        """Write one message."""
        head = {"@level": level, "@message": message, "@module": "mlctl.ui"}
        message_fields = {**head, "@timestamp": self.now(), **rest, "type": kind}
        self.write(as_json(message_fields) + "\n")

    def seconds(self, step: PlanStep) -> int:
        """Return the whole seconds since the first message about the step."""
        return int(self.clock() - self._began.setdefault(step.id, self.clock()))


def show(
    events: Iterable[StepEvent],
    work: Work,
    actions: Mapping[Address, Action],
    stream: MessageStream,
    *,
    destroying: bool = False,
    warnings: Iterable[Diagnostic] = (),
) -> Outcome:
    """Write the version, the plan, each event as it comes, the failures and the counts.

    `warnings` are those of the plan.
    """
    stream.write_message("version", f"mlctl {__version__}", mlctl=__version__, ui=UI_VERSION)
    for address, action in actions.items():
        if action is not Action.NO_OP:
            name = _NAMES[action]
            change = {"resource": _resource(address), "action": name}
            stream.write_message("planned_change", f"{address}: Plan to {name}", change=change)
    _planned(actions, stream)
    report = Report()
    report.extend(warnings)
    _findings(report, stream)
    outcome = collect(events, work, actions, lambda event: _show_event(event, work, stream))
    for event in outcome.failed:
        _diagnose(event, stream)
    for event in outcome.skipped:
        cause = event.because.target if event.because else None
        _warn(event.step, f"skipped because of {cause}", stream)
    for event in outcome.unverified:
        _warn(event.step, f"not verified: it could not be read back: {event.error}", stream)
    for event in outcome.cancelled:
        why = outcome.lease_lost.message if outcome.lease_lost else outcome.outage
        _warn(event.step, f"not started: {why or 'the apply was cancelled'}", stream)
    numbers = {"add": outcome.added, "change": outcome.changed, "remove": outcome.destroyed}
    state = "complete! " if outcome.complete else "incomplete. "
    _summarize(
        f"{'Destroy' if destroying else 'Apply'} {state}",
        numbers,
        "destroy" if destroying else "apply",
        stream,
    )
    return outcome


def refuse(report: Report, stream: MessageStream) -> None:
    """Write the version and the findings that block the apply."""
    stream.write_message("version", f"mlctl {__version__}", mlctl=__version__, ui=UI_VERSION)
    _findings(report, stream)


def blocked_line(error: LeaseHeld, stream: MessageStream) -> None:
    """Write the version and the holder of the lease that blocks the apply."""
    stream.write_message("version", f"mlctl {__version__}", mlctl=__version__, ui=UI_VERSION)
    diagnostic = {
        "severity": "error",
        "code": error.code,
        "summary": error.message,
        "detail": "\n".join(facts(error.lease)),
        "address": None,
    }
    stream.write_message("diagnostic", f"Error: {error.message}", "error", diagnostic=diagnostic)


def _findings(report: Report, stream: MessageStream) -> None:
    for diagnostic in machine.diagnostics(report):
        level = {"error": "error", "info": "info"}.get(str(diagnostic["severity"]), "warn")
        message = f"{diagnostic['severity'].capitalize()}: {diagnostic['summary']}"
        stream.write_message("diagnostic", message, level, diagnostic=diagnostic)


def _planned(actions: Mapping[Address, Action], stream: MessageStream) -> None:
    add = sum(action.creates for action in actions.values())
    change = sum(action is Action.UPDATE for action in actions.values())
    remove = sum(action.deletes for action in actions.values())
    message = f"Plan: {add} to add, {change} to change, {remove} to destroy."
    changes = {"add": add, "change": change, "remove": remove, "operation": "plan"}
    stream.write_message("change_summary", message, changes=changes)


def _summarize(head: str, numbers: dict[str, int], operation: str, stream: MessageStream) -> None:
    add, change, remove = numbers.values()
    message = f"{head}Resources: {add} added, {change} changed, {remove} destroyed."
    stream.write_message("change_summary", message, changes={**numbers, "operation": operation})


def _show_event(event: StepEvent, work: Work, stream: MessageStream) -> None:
    step = event.step
    message = line(event)
    if message is None:
        return
    seconds = stream.seconds(step)
    hook: dict[str, Data] = {
        "resource": _resource(step.target),
        "action": _HOOK_ACTIONS.get(step.role, "update"),
    }
    match event.state:
        case StepState.STARTED:
            stream.write_message("apply_start", message, hook=hook)
        case StepState.RETRYING:
            stream.write_message(
                "apply_progress", message, hook={**hook, "elapsed_seconds": seconds}
            )
        case StepState.DONE:
            identity = {"id_key": "id", "id_value": step.target.id(work.scope)}
            hook |= {**identity, "elapsed_seconds": seconds, "wrote": event.wrote}
            hook["verified"] = event.verified
            stream.write_message("apply_complete", message, hook=hook)
        case StepState.FAILED:
            hook |= {"elapsed_seconds": seconds, "wrote": event.wrote}
            stream.write_message("apply_errored", message, hook=hook)
        case StepState.SKIPPED | StepState.CANCELLED:
            pass


def _resource(address: Address) -> dict[str, Data]:
    return {
        "addr": str(address),
        "module": "",
        "resource": str(address),
        "implied_provider": "azureml",
        "resource_type": address.kind,
        "resource_name": address.name,
        "resource_key": None,
    }


def _diagnose(event: StepEvent, stream: MessageStream) -> None:
    detail = list(error_lines(event.error)) if event.error else []
    detail += [accepted(event)] if event.wrote else []
    summary = failed(event.step)
    diagnostic = {
        "severity": "error",
        "code": event.error.code if event.error else None,
        "summary": summary,
        "detail": "\n".join(detail),
        "address": str(event.step.target),
    }
    stream.write_message("diagnostic", f"Error: {summary}", "error", diagnostic=diagnostic)


def _warn(step: PlanStep, why: str, stream: MessageStream) -> None:
    diagnostic = {
        "severity": "warning",
        "code": None,
        "summary": f"{step.target}: {why}",
        "detail": "",
        "address": str(step.target),
    }
    stream.write_message(
        "diagnostic", f"Warning: {diagnostic['summary']}", "warn", diagnostic=diagnostic
    )
