"""Schedules: time zones, cron lines, past moments, runs that would do nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, time

from mlctl import pointer
from mlctl.config.graph import Graph
from mlctl.config.rules.base import RuleContext, declared, finding
from mlctl.dataclasses import replace
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.kinds import Resource, triggers
from mlctl.kinds.records.schedule import KIND as SCHEDULE
from mlctl.pointer import Data, Pointer
from mlctl.schema.text import listed, nearest

NO_ZONE = Rule("MLC365", "no-time-zone-of-windows", Severity.ERROR)
NEVER = Rule("MLC366", "schedule-that-never-fires", Severity.ERROR)
OVER = Rule("MLC367", "start-in-the-past", Severity.WARNING)
REUSED = Rule("MLC368", "runs-that-reuse-the-first", Severity.WARNING)
IGNORED = Rule("MLC369", "days-and-months-of-a-cron-line", Severity.WARNING)

_TRIGGER: Pointer = ("trigger",)
_ZONE: Pointer = (*_TRIGGER, "time_zone")
_LINE: Pointer = (*_TRIGGER, "expression")
_START: Pointer = (*_TRIGGER, "start_time")
_FORCED = ("create_job", "settings", "force_rerun")


def moments(graph: Graph, context: RuleContext) -> Iterator[Diagnostic]:
    """MLC365, MLC366, MLC367 and MLC369."""
    now = datetime.combine(context.today, time(), UTC)
    for schedule in declared(graph, SCHEDULE.name):
        trigger = schedule.get("trigger")
        if not isinstance(trigger, dict):
            continue
        name = str(trigger.get("time_zone") or "UTC")
        if triggers.zone(name) is None:
            yield _report_zone(schedule, name)
        else:
            yield from _check_line(schedule, trigger, now)


def _report_zone(schedule: Resource, name: str) -> Diagnostic:
    of_iana = [zone for zone, iana in triggers.zones().items() if iana == name]
    near = of_iana[0] if of_iana else nearest(name, triggers.zones())
    message = f"`{name}` is not a Windows time zone, which schedules need"
    hint = f"write `{near}`" if near else "write `UTC`, or a name such as `W. Europe Standard Time`"
    return finding(NO_ZONE, schedule, _ZONE, message, hint)


def _check_line(
    schedule: Resource, trigger: Mapping[str, Data], now: datetime
) -> Iterator[Diagnostic]:
    try:
        ahead = triggers.next_firings(trigger, now)
        ignored = triggers.cron(str(trigger["expression"])).ignored if _LINE[1] in trigger else ()
    except (ValueError, TypeError, OverflowError) as error:
        if isinstance(trigger.get("expression"), str):
            why = f"the cron line cannot be read: {error}"
            hint = "write five fields, such as `0 6 * * 1-5` for 6 a.m. from Monday to Friday"
            yield finding(NEVER, schedule, _LINE, why, hint)
        return
    place = triggers.zone(str(trigger.get("time_zone") or "UTC")) or UTC
    if not ahead:
        at = next(
            at
            for at in ((*_TRIGGER, "end_time"), (*_TRIGGER, "schedule"), _TRIGGER)
            if pointer.get(schedule.get(), at) is not None
        )
        why = "it never starts a job"
        hint = "correct `end_time`, or the days"
        never = finding(NEVER, schedule, at, why, hint)
        end = triggers.moment(trigger.get("end_time"), place)
        # A schedule that has ended is not a mistake.
        yield replace(never, severity=Severity.WARNING) if end and end < now else never
        return
    shown = f"the next three from today on: {_format_firings(ahead, trigger)}"
    if ignored:
        message = f"Azure ignores the {listed(ignored, 'and')} of a cron line, as if they were `*`"
        hint = f"use `type: recurrence` with `month_days`; {shown}"
        yield finding(IGNORED, schedule, _LINE, message, hint)
    start = triggers.moment(trigger.get("start_time"), place)
    if start is not None and start < now:
        yield finding(
            OVER,
            schedule,
            _START,
            "`start_time` has passed: it only sets the rhythm, and missed jobs are not started",
            shown,
        )


def _format_firings(firings: list[datetime], trigger: Mapping[str, Data]) -> str:
    """`2026-06-19 06:00 (04:00 UTC), ...`."""
    place = triggers.zone(str(trigger.get("time_zone") or "UTC")) or UTC
    texts = []
    for firing in firings:
        local = firing.astimezone(place)
        utc = f"{firing:%H:%M}" if local.date() == firing.date() else f"{firing:%Y-%m-%d %H:%M}"
        texts.append(
            f"{local:%Y-%m-%d %H:%M}"
            + ("" if local.utcoffset() == firing.utcoffset() else f" ({utc} UTC)")
        )
    return ", ".join(texts) + (" UTC" if "UTC" not in texts[0] else "")


def reuse(graph: Graph, _context: RuleContext) -> Iterator[Diagnostic]:
    """MLC368."""
    for schedule in declared(graph, SCHEDULE.name):
        job = schedule.get("create_job")
        forced = str(schedule.get(*_FORCED)).casefold() == "true"
        if not isinstance(job, dict) or "job" in job or forced or _is_different_each_time(job):
            continue
        if not isinstance(job.get("jobs"), dict) and not isinstance(job.get("command"), str):
            continue
        steps = "steps" if "jobs" in job else "the command"
        yield finding(
            REUSED,
            schedule,
            ("create_job",),
            f"every run of this job is the same: from the second on, {steps}"
            f" {'are' if 'jobs' in job else 'is'} skipped, and the first outputs are reused",
            "write `settings: {force_rerun: true}` under `create_job`"
            if "jobs" in job
            else "give it an input of `${{creation_context.trigger_time}}`",
            key=True,
        )


def _is_different_each_time(job: Mapping[str, Data]) -> bool:
    """Whether an input or output differs each time: by an expression, or by `@latest`."""
    texts = [text for key in ("inputs", "outputs") for _, text in pointer.texts(job.get(key))]
    return any("${{" in text or text.endswith("@latest") for text in texts)


CHECKS = (moments, reuse)
