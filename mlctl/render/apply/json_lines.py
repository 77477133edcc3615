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

    def write_version(self) -> None:
        """Write the versions of mlctl and of these messages, which come first."""
        self.write_message("version", f"mlctl {__version__}", mlctl=__version__, ui=UI_VERSION)

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
    stream.write_version()
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
        _show_failure(event, stream)
    for event in outcome.skipped:
        cause = event.because.target if event.because else None
        _warn(event.step, f"skipped because of {cause}", stream)
    for event in outcome.unverified:
        _warn(event.step, f"not verified: it could not be read back: {event.error}", stream)
    for event in outcome.cancelled:
        why = outcome.lease_lost.message if outcome.lease_lost else outcome.outage
        _warn(event.step, f"not started: {why or 'the apply was cancelled'}", stream)
    add, change_, remove = outcome.added, outcome.changed, outcome.destroyed
    verb = "destroy" if destroying else "apply"
    state = "complete!" if outcome.complete else "incomplete."
    message = f"{verb.capitalize()} {state} Resources: {add} added, {change_} changed,"
    _count(f"{message} {remove} destroyed.", (add, change_, remove), verb, stream)
    return outcome


def refuse(report: Report, stream: MessageStream) -> None:
    """Write the version and the findings that block the apply."""
    stream.write_version()
    _findings(report, stream)


def blocked_line(error: LeaseHeld, stream: MessageStream) -> None:
    """Write the version and the holder of the lease that blocks the apply."""
    stream.write_version()
    _diagnose(stream, "error", error.message, error.code, "\n".join(facts(error.lease)))


def _diagnose(
    stream: MessageStream,
    severity: str,
    summary: str,
    code: str | None = None,
    detail: str = "",
    address: Address | None = None,
) -> None:
    diagnostic = {
        "severity": severity,
        "code": code,
        "summary": summary,
        "detail": detail,
        "address": None if address is None else str(address),
    }
    level = {"warning": "warn"}.get(severity, severity)
    message = f"{severity.capitalize()}: {summary}"
    stream.write_message("diagnostic", message, level, diagnostic=diagnostic)


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
    _count(message, (add, change, remove), "plan", stream)


def _count(
    message: str, numbers: tuple[int, int, int], operation: str, stream: MessageStream
) -> None:
    changes = dict(zip(("add", "change", "remove"), numbers, strict=True))
    stream.write_message("change_summary", message, changes={**changes, "operation": operation})


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


def _show_failure(event: StepEvent, stream: MessageStream) -> None:
    detail = list(error_lines(event.error)) if event.error else []
    detail += [accepted(event)] if event.wrote else []
    step, code = event.step, event.error.code if event.error else None
    _diagnose(stream, "error", failed(step), code, "\n".join(detail), step.target)


def _warn(step: PlanStep, why: str, stream: MessageStream) -> None:
    _diagnose(stream, "warning", f"{step.target}: {why}", address=step.target)
