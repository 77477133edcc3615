"""Compute when a schedule starts jobs, from a cron line (NCronTab's five fields) or a recurrence.

Moments are given in a Windows time zone and returned in UTC. When clocks change, a skipped moment
comes an hour later, and a repeated one comes once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import cache
from itertools import islice
from typing import NamedTuple
from zoneinfo import ZoneInfo

from mlctl import catalog
from mlctl.dataclasses import dataclass
from mlctl.pointer import Data

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ITEM = re.compile(r"(?:\*|(\w+)(?:-(\w+))?)(?:/(\d+))?")
_YEARS = 5  # limit of the search for the next firing


class CronField(NamedTuple):
    """A field of a cron line: its name, bounds, and words by number."""

    name: str
    least: int
    greatest: int
    words: tuple[str, ...] = ()


_FIELDS = (
    CronField("minutes", 0, 59),
    CronField("hours", 0, 23),
    CronField("days", 1, 31),
    CronField("months", 1, 12, ("", *_MONTHS)),
    CronField("days of the week", 0, 7, ("sun", "mon", "tue", "wed", "thu", "fri", "sat")),
)


@dataclass(frozen=True, slots=True)
class Cron:
    """The numbers of a cron line's fields, in order; `ignored` are those that Azure ignores.

    Source: how-to-schedule-pipeline-job, "DAYS and MONTH values are not supported": they count as
    `*`.
    """

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    week_days: frozenset[int]
    ignored: tuple[str, ...]


def cron(expression: str) -> Cron:
    """Parse a cron line. Raises ValueError if the line is invalid; the message names the field."""
    texts = expression.split()
    if len(texts) != len(_FIELDS):
        names = ", ".join(field.name for field in _FIELDS)
        raise ValueError(f"it has {len(texts)} fields; a cron line has 5: {names}")
    minutes, hours, days, months, week_days = (
        _parse_numbers(text.casefold(), field) for text, field in zip(texts, _FIELDS, strict=True)
    )
    whole = {"days": len(days) == 31, "months": len(months) == 12}  # noqa: PLR2004
    return Cron(
        tuple(sorted(minutes)),
        tuple(sorted(hours)),
        frozenset((day - 1) % 7 for day in week_days),
        tuple(name for name, is_whole in whole.items() if not is_whole),
    )


def _parse_numbers(text: str, field: CronField) -> set[int]:
    numbers: set[int] = set()
    for item in text.split(","):
        match = _ITEM.fullmatch(item)
        if match is None:
            raise ValueError(f"`{item}` is not a value of the {field.name}")
        first, last, step = match.groups()
        if first is None:
            low, high = field.least, field.greatest
        else:
            low = _parse_number(first, field)
            high = _parse_number(last, field) if last else field.greatest if step else low
        if low > high or step == "0":
            raise ValueError(f"`{item}` is not a value of the {field.name}")
        numbers |= set(range(low, high + 1, int(step or 1)))
    return numbers


def _parse_number(text: str, field: CronField) -> int:
    number = field.words.index(text[:3]) if text[:3] in field.words else None
    if number is None and text.isdecimal():
        number = int(text)
    if number is None or not field.least <= number <= field.greatest:
        bounds = f"{field.least} to {field.greatest}"
        raise ValueError(f"`{text}` is not a value of the {field.name}, which are {bounds}")
    return number


@cache
def zones() -> Mapping[str, str]:
    """The IANA time zone of each Windows name."""
    return {row["name"]: row["zone"] for row in catalog.rows("time_zones.csv")}


def zone(name: str) -> tzinfo | None:
    """Return the time zone of a Windows name, in any case; None if it does not exist."""
    iana = {known.casefold(): zone for known, zone in zones().items()}.get(name.casefold())
    if iana is None:
        return None
    offset = re.fullmatch(r"utc([+-]\d+)", name.casefold())
    return timezone(timedelta(hours=int(offset[1]))) if offset else ZoneInfo(iana)


def moment(text: Data, place: tzinfo) -> datetime | None:
    """Parse a moment into UTC; it is in the given zone unless it has an offset."""
    try:
        moment = datetime.fromisoformat(str(text)) if text else None
    except ValueError:
        return None
    return (moment if moment.tzinfo else _to_utc(moment, place)).astimezone(UTC) if moment else None


def _to_utc(local: datetime, place: tzinfo) -> datetime:
    return local.replace(tzinfo=place).astimezone(UTC)


def firings(trigger: Mapping[str, Data], after: datetime) -> Iterator[datetime]:
    """Yield the moments in UTC after `after` at which a trigger (from YAML) starts jobs.

    Raises:
        ValueError: its cron line or its time zone cannot be read.
    """
    place = zone(str(trigger.get("time_zone") or "UTC"))
    if place is None:
        raise ValueError(f"there is no time zone `{trigger.get('time_zone')}` in Windows")
    start, end = (moment(trigger.get(key), place) for key in ("start_time", "end_time"))
    first = max(after, start - timedelta(microseconds=1)) if start else after
    origin = (start or after).astimezone(place).replace(tzinfo=None)
    last_day = (first + timedelta(days=366 * _YEARS)).astimezone(place).date()
    for local in _local_moments(trigger, first.astimezone(place).date(), origin, last_day):
        utc = _to_utc(local, place)
        if end is not None and utc > end:
            return
        if utc > first:
            yield utc


def next_firings(trigger: Mapping[str, Data], after: datetime, count: int = 3) -> list[datetime]:
    """Return the next moments, in UTC."""
    return list(islice(firings(trigger, after), count))


def _local_moments(
    trigger: Mapping[str, Data], day: date, origin: datetime, last: date
) -> Iterator[datetime]:
    """Yield the moments of a trigger from a day on, without a zone."""
    if trigger.get("expression") is not None:
        line = cron(str(trigger["expression"]))
        while day <= last:
            if day.weekday() in line.week_days:
                yield from _moments_of_day(day, line.hours, line.minutes)
            day += timedelta(days=1)
        return
    unit, interval = str(trigger.get("frequency")).casefold(), int(trigger.get("interval") or 1)
    pattern = trigger.get("schedule")
    if unit in ("minute", "hour"):
        step = timedelta(**{f"{unit}s": interval})
        begin = datetime.combine(day, datetime.min.time())
        at = origin + max(0, (begin - origin) // step) * step
        while at.date() <= last:
            yield at
            at += step
        return
    times = pattern if isinstance(pattern, Mapping) else {}
    hours, minutes = (
        sorted(_list(times.get(key))) or [at]
        for key, at in (("hours", origin.hour), ("minutes", origin.minute))
    )
    while day <= last:
        if _is_day(day, origin.date(), unit, interval, times):
            yield from _moments_of_day(day, hours, minutes)
        day += timedelta(days=1)


def _is_day(day: date, origin: date, unit: str, interval: int, pattern: Mapping[str, Data]) -> bool:
    """Whether a recurrence by days, weeks or months has moments on a day."""
    if unit == "day":
        return (day - origin).days % interval == 0
    if unit == "week":
        monday = origin - timedelta(days=origin.weekday())
        days = _list(pattern.get("week_days")) or [DAYS[origin.weekday()]]
        in_turn = ((day - monday).days // 7) % interval == 0
        return in_turn and DAYS[day.weekday()] in [str(name).casefold() for name in days]
    months = (day.year - origin.year) * 12 + day.month - origin.month
    by_day = _list(pattern.get("month_days")) or [origin.day]
    return months % interval == 0 and day.day in by_day


def _moments_of_day(
    day: date, hours: list[int] | tuple[int, ...], minutes: list[int] | tuple[int, ...]
) -> Iterator[datetime]:
    for hour in hours:
        for minute in minutes:
            yield datetime(day.year, day.month, day.day, hour, minute)  # noqa: DTZ001 - local


def _list(value: Data) -> list[Data]:
    return value if isinstance(value, list) else [] if value is None else [value]
