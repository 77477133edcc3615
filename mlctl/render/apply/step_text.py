"""Steps and their events as text, in Terraform's words if it has any."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from mlctl.applying.events import StepEvent, StepState
from mlctl.durations import elapsed
from mlctl.kinds import kind_of
from mlctl.planning.steps.work import PlanStep, StepRole
from mlctl.render.terminal.terminal import clean


class StepText(NamedTuple):
    """The words for a step that is running, done, or failed."""

    running: str
    done: str
    failed: str


_TEXTS = {
    StepRole.CREATE: StepText("Creating", "Creation complete", "Creation failed"),
    StepRole.UPDATE: StepText("Modifying", "Modifications complete", "Modification failed"),
    StepRole.DELETE: StepText("Destroying", "Destruction complete", "Destruction failed"),
    StepRole.WAIT: StepText("Waiting", "Waiting done", "Waiting failed"),
    StepRole.SET_DEFAULT: StepText(
        "Setting the {routing}", "{routing} set", "Setting the {routing} failed"
    ),
    StepRole.UNSET_DEFAULT: StepText(
        "Unsetting the {routing}", "{routing} unset", "Unsetting the {routing} failed"
    ),
}


NOT_VERIFIED = " (not verified)"


def text_of(step: PlanStep) -> StepText:
    """Return the words for a step; for routing steps, in those of its kind."""
    return _text_of(step.role, kind_of(step.target).plan.routing)


@cache
def _text_of(role: StepRole, routing: str) -> StepText:
    texts = (text.format(routing=routing) for text in _TEXTS[role])
    return StepText(*(text[:1].upper() + text[1:] for text in texts))


def failed(step: PlanStep) -> str:
    """`compute/c: Creation failed`."""
    return clean(f"{step.target}: {text_of(step).failed}")


def running(step: PlanStep) -> str:
    """`compute/c: Creating...`."""
    return clean(f"{step.target}: {text_of(step).running}...")


def still_running(step: PlanStep, seconds: float) -> str:
    """`compute/c: Still creating... [20s elapsed]`."""
    return clean(f"{step.target}: Still {_in_sentence(step)}... [{elapsed(seconds)} elapsed]")


def name_of(step: PlanStep) -> str:
    """Return `compute/c`, with the words for the step unless it is the resource's own write."""
    if step.role in (StepRole.CREATE, StepRole.UPDATE, StepRole.DELETE):
        return clean(str(step.target))
    return clean(f"{step.target} ({_in_sentence(step)})")


def line(event: StepEvent, seconds: float | None = None) -> str | None:
    """Describe an event; None for those that only the summary mentions.

    `seconds` is how long the step took, None to leave it out.
    """
    step = event.step
    duration = f" after {elapsed(seconds)}" if seconds is not None else ""
    match event.state:
        case StepState.STARTED:
            return running(step)
        case StepState.RETRYING:
            return clean(f"{step.target}: Retrying in {event.delay or 0:g}s: {event.error}")
        case StepState.DONE:
            return clean(f"{step.target}: {_done(event, duration)}")
        case StepState.FAILED:
            return failed(step) + duration
        case StepState.SKIPPED | StepState.CANCELLED:
            return None


def _done(event: StepEvent, duration: str) -> str:
    if event.wrote and not event.waited:
        return "Accepted, without waiting"
    if event.wrote or event.step.subsumed:
        return text_of(event.step).done + duration + ("" if event.verified else NOT_VERIFIED)
    return "Already there" if event.step.creates else "Already as planned"


def _in_sentence(step: PlanStep) -> str:
    text = text_of(step).running
    return text[:1].lower() + text[1:]
