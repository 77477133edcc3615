"""The summary of an apply as text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from mlctl import pointer
from mlctl.applying.events import NotEffective, Stale, StepEvent
from mlctl.applying.outcome import Outcome
from mlctl.render.apply.step_text import failed, name_of
from mlctl.render.cloud.advice import advice
from mlctl.render.plan.text import masked_sides
from mlctl.render.plan.tree import scalar
from mlctl.render.terminal.terminal import Style, Styler, clean
from mlctl.service_errors import ServiceError

_DASH = "–"  # noqa: RUF001  # the sign of what was passed over - the sign of what was skipped
_SHOWN = 20  # skipped or cancelled steps that are listed


def summary(outcome: Outcome, *, color: bool = False, destroying: bool = False) -> str:
    """Return the end of an apply's output: counts, failures with their effects, the next step."""
    styler = Styler(color)
    numbers = (
        f"{outcome.added} added, {outcome.changed} changed, {outcome.destroyed} destroyed"
        if not destroying
        else f"{outcome.destroyed} destroyed"
    )
    verb = "Destroy" if destroying else "Apply"
    if outcome.complete:
        head = styler.apply(f"{verb} complete! Resources: {numbers}.", Style.GREEN)
        return "\n".join([head, *_unverified(outcome, styler)]) + "\n"
    state = "was cancelled" if outcome.stopped and not outcome.failed else "failed"
    if outcome.lease_lost:
        state = "was stopped"
    lines = [styler.apply(f"{verb} {state}. Resources: {numbers}.", Style.BOLD_RED)]
    lines += _failures(outcome, styler)
    lines += _unverified(outcome, styler)
    lines += _cancelled(outcome, styler)
    lines += [
        f"\n{address} was destroyed to be replaced, and does not exist now."
        for address in outcome.lost
    ]
    lines += ["", _next_command(outcome)]
    return "\n".join(lines) + "\n"


def _failures(outcome: Outcome, styler: Styler) -> Iterator[str]:
    skipped: dict[int, list[str]] = defaultdict(list)
    for event in outcome.skipped:
        if event.because is not None and event.because.target != event.step.target:
            skipped[event.because.id].append(name_of(event.step))
    for event in outcome.failed:
        step, error = event.step, event.error
        yield ""
        yield f"{styler.apply('✗', Style.BOLD_RED)} {failed(step)}"
        if error is not None:
            yield from (f"    {line}" for line in error_lines(error))
        if event.wrote:
            yield f"    {accepted(event)}"
        targets = list(dict.fromkeys(skipped[step.id]))
        for target in targets[:_SHOWN]:
            yield f"  {_DASH} {target}: skipped because of {step.target}"
        if len(targets) > _SHOWN:
            yield f"  {_DASH} and {len(targets) - _SHOWN} more: skipped because of {step.target}"


def accepted(event: StepEvent) -> str:
    """Say what is known of a write that failed after it was accepted."""
    if event.verified:
        return "the write was accepted and is counted: the workspace shows it"
    return "the service accepted the write, but whether it was done is unknown"


def _unverified(outcome: Outcome, styler: Styler) -> Iterator[str]:
    if outcome.unverified:
        yield ""
        yield styler.apply("Not verified (written, but not read back):", Style.BOLD)
    for event in outcome.unverified[:_SHOWN]:
        yield f"  {_DASH} {name_of(event.step)}: {clean(str(event.error))}"
    if len(outcome.unverified) > _SHOWN:
        yield f"  {_DASH} and {len(outcome.unverified) - _SHOWN} more"


def error_lines(error: ServiceError) -> Iterator[str]:
    """Return the service's error message, and what to do about it."""
    yield clean(f"({error.code}) {error.message}")
    if isinstance(error, NotEffective):
        for mismatch in error.mismatches:
            old, new = masked_sides(mismatch)
            actual = "nothing" if old is None else scalar(old)
            planned = "nothing" if new is None else scalar(new)
            yield f"`{clean(pointer.dotted(mismatch.at))}`: planned {planned}, found {actual}"
    yield from (clean(str(mismatch)) for mismatch in (*error.properties, *error.details))
    if error.request_id:
        yield f"request: {clean(error.request_id)}"
    hint = _advice(error)
    if hint:
        yield f"hint: {clean(hint)}"


def _advice(error: ServiceError) -> str | None:
    match error:
        case Stale():
            return "to see what changed and what remains: mlctl plan"
        case NotEffective():
            return (
                "the service accepted the request but kept its own value: change the file to "
                "match, or ask why"
            )
        case _:
            return advice(error)


def _cancelled(outcome: Outcome, styler: Styler) -> Iterator[str]:
    targets = list(dict.fromkeys(name_of(event.step) for event in outcome.cancelled))
    if targets:
        yield ""
        yield styler.apply("Not started:", Style.BOLD)
        if outcome.outage:
            yield f"  {outcome.outage}"
        if outcome.lease_lost:
            yield f"  {clean(outcome.lease_lost.message)}"
        yield from (f"  {_DASH} {target}" for target in targets[:_SHOWN])
        if len(targets) > _SHOWN:
            yield f"  {_DASH} and {len(targets) - _SHOWN} more"


def _next_command(outcome: Outcome) -> str:
    if outcome.stale:
        return "Nothing was overwritten. Make a new plan, and apply that."
    if outcome.lease_lost:
        return (
            "Finished steps stay. To see who holds the lease now: mlctl lock show. Then make "
            "a new plan."
        )
    return "Finished steps stay. Run the same command again to do the rest."
