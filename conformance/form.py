"""The comparison of an answer with a recorded one.

Keys, types, nulls and the spelling of texts must agree, and nothing may be added. What varies from
one call to the next is compared by how it is written: GUIDs, moments, names that the service makes
up; ids of operations and of jobs of endpoints, whose prefixes (`be:`, `bebes:`, `batchjob-`) differ
between clusters of the service. Of a URL the path and the names in its query count, not the host:
an emulator has one for all. Placeholders of cards stand for anything. Rows of a list are compared
with the row of the same id, or with the nearest one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import parse_qsl, urlsplit

from conformance.card import CardResponse
from mlctl import pointer
from mlctl.pointer import Data, Pointer

ABSENT = "(absent)"
_URL = re.compile(r"(https|azureml)://[^/]*\.")  # at a host; `azureml://datastores/` has none
# Compared both ways; the others only where they were recorded.
_STRICT = {"location", "azure-asyncoperation", "retry-after", "azureml-model-deployment"}
# One recorder does not distinguish an empty body from `null`, so its length says nothing.
_UNTOLD = {"content-length", "content-type", "x-request-time", "x-envoy-upstream-service-time"}
_ROWS = ("value", "values", "nodes")  # keys of lists whose rows differ from call to call
_NAMES = ("id", "name", "family", "localizedValue", "value")  # what rows differ by
_GUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_MOMENT = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,7})?(?:Z|[+-]\d\d:\d\d)?"
_DASHED = r"\d{4}(?:-\d\d){5}-\d{7}"  # a moment as a version of a component
_OPERATION = rf"[a-z]+:{_GUID}:{_GUID}"
_DIGEST = rf"[a-z]+:{_GUID}:[A-Za-z0-9_-]{{43}}"  # an operation of a schedule
_JOB = rf"(?:batchjob-)?{_GUID}"
_HEX = r"\b(?:[0-9a-f]{32}|[0-9a-f]{16})\b"  # ids of traces
_VARYING = re.compile(
    rf"({_DIGEST})|({_OPERATION})|({_GUID})|({_HEX})|({_DASHED})|({_MOMENT})"
    r"|(\{\w+\}|REDACTED|user@example\.com)"
)
_FORMS = (_DIGEST, _OPERATION, _JOB, _HEX, _DASHED)  # of what matches the groups but the last two
_MADE_UP = re.compile(r"[a-z]+_[a-z]+_(?=[a-z]*\d)[a-z0-9]{8,10}")  # blue_store_3k1gd32x
_UNIX_MOMENTS = (1_500_000_000, 2_500_000_000)  # 2017 to 2049
_ANY = ("any", "user")


@dataclass(frozen=True, slots=True)
class Deviation:
    """One place of an answer that is not as recorded.

    `at` is a pointer into the whole answer: `/status`, `/headers/location`, `/body/properties`.
    """

    at: str
    recorded: Data
    answered: Data

    def __str__(self) -> str:
        return f"{self.at}: recorded {self.recorded!r}, answered {self.answered!r}"


def compare(recorded: CardResponse, answered: CardResponse) -> tuple[Deviation, ...]:
    """Where an answer is not as recorded; headers are in any letter case.

    Where one of the two is an error and the other is not, that is all there is to say.
    """
    deviations: list[Deviation] = []
    if recorded.status != answered.status:
        deviations.append(Deviation("/status", recorded.status, answered.status))
        if recorded.is_error != answered.is_error:
            why = Deviation("/body", _error(recorded.body), _error(answered.body))
            return (*deviations, why)
    deviations += _headers(recorded.headers, answered.headers)
    bodies = [None if body == "null" else body for body in (recorded.body, answered.body)]
    return (*deviations, *compare_data(bodies[0], bodies[1], ("body",)))


def _error(body: Data) -> Data:
    """The error of a body, short."""
    error = pointer.get(body, ("error",))
    return f"{error.get('code')}: {error.get('message')}" if isinstance(error, dict) else "..."


def compare_data(recorded: Data, answered: Data, at: Pointer = ()) -> Iterator[Deviation]:
    """Where plain data is not as recorded."""
    if isinstance(recorded, Mapping) and isinstance(answered, Mapping):
        for key in [*recorded, *(extra for extra in answered if extra not in recorded)]:
            below = (*at, key)
            if key not in answered or key not in recorded:
                pair = (recorded.get(key, ABSENT), answered.get(key, ABSENT))
                yield Deviation(pointer.text(below), *pair)
            else:
                yield from compare_data(recorded[key], answered[key], below)
    elif isinstance(recorded, list) and isinstance(answered, list):
        rows = bool(at) and at[-1] in _ROWS and all(isinstance(row, dict) for row in recorded)
        yield from (_rows if rows else _items)(recorded, answered, at)
    elif isinstance(recorded, str) and isinstance(answered, str):
        if not _same_form(recorded, answered):
            yield Deviation(pointer.text(at), recorded, answered)
    elif type(recorded) is not type(answered) or not (
        recorded == answered or (_is_moment(recorded) and _is_moment(answered))
    ):
        yield Deviation(pointer.text(at), recorded, answered)


def _is_moment(data: Data) -> bool:
    """Whether a number is a moment, in seconds of Unix."""
    return isinstance(data, int) and _UNIX_MOMENTS[0] < data < _UNIX_MOMENTS[1]


def _headers(recorded: Mapping[str, str], answered: Mapping[str, str]) -> Iterator[Deviation]:
    expected = {name.lower(): text for name, text in recorded.items()}
    ours = {name.lower(): text for name, text in answered.items()}
    for name in [*expected, *sorted(_STRICT & {*ours} - {*expected})]:
        if name in _UNTOLD:
            continue
        pair = (expected.get(name, ABSENT), ours.get(name, ABSENT))
        counts = name.startswith("x-ms-ratelimit-")  # how many are left, not which limit it is
        if ABSENT in pair or not (pair[1].isdecimal() if counts else _same_form(*pair)):
            yield Deviation(f"/headers/{name}", *pair)


def _items(recorded: Sequence[Data], answered: Sequence[Data], at: Pointer) -> Iterator[Deviation]:
    if len(recorded) != len(answered):
        yield Deviation(pointer.text(at), list(recorded), list(answered))
        return
    for number, (expected, actual) in enumerate(zip(recorded, answered, strict=True)):
        yield from compare_data(expected, actual, (*at, number))


def _rows(recorded: Sequence[Data], answered: Sequence[Data], at: Pointer) -> Iterator[Deviation]:
    """Rows with the id of a recorded one are compared with that, all others with the nearest."""
    if not recorded or not answered:
        if recorded or answered:
            yield Deviation(pointer.text(at), list(recorded), list(answered))
        return
    rows_by_id = {row["id"]: row for row in recorded if _is_resource(row)}
    ours = [row.get("id") for row in answered if isinstance(row, dict)]
    for number, row in enumerate(answered):
        below = (*at, number)
        partner = rows_by_id.get(row.get("id")) if isinstance(row, dict) else None
        if partner is not None:
            yield from compare_data(partner, row, below)
        else:
            tries = (tuple(_of_another(candidate, row, below)) for candidate in recorded)
            yield from min(tries, key=len)
    common = [row_id for row_id in rows_by_id if row_id in ours]
    for missing in rows_by_id.keys() - {*common}:
        yield Deviation(pointer.text((*at, missing)), missing, ABSENT)
    order = [row_id for row_id in ours if row_id in rows_by_id]
    if order != common:
        yield Deviation(pointer.text(at), common, order)


def _of_another(recorded: Data, answered: Data, at: Pointer) -> Iterator[Deviation]:
    """The deviations of a row about something else than the recorded one."""
    for deviation in compare_data(recorded, answered, at):
        values = (deviation.recorded, deviation.answered)
        plain = ABSENT not in values and all(
            isinstance(value, bool | int | float | str) for value in values
        )
        same_type = type(deviation.recorded) is type(deviation.answered)
        key = deviation.at.rpartition("/")[2]
        free = plain and same_type and (key in _NAMES or not isinstance(deviation.recorded, str))
        if not free:
            yield deviation


def _is_resource(row: Data) -> bool:
    return isinstance(row.get("id"), str) and ("properties" in row or "systemData" in row)


def _same_form(recorded: str, answered: str) -> bool:
    if recorded in _ANY:
        return True
    if not _URL.match(recorded):
        return _pattern(recorded).fullmatch(answered) is not None
    expected, actual = urlsplit(recorded), urlsplit(answered)
    names = [
        sorted(name for name, _ in parse_qsl(url.query, keep_blank_values=True))
        for url in (expected, actual)
    ]
    same_query = names[0] == names[1] or "REDACTED" in expected.query
    scheme = actual.scheme == expected.scheme or (expected.scheme, actual.scheme) == (
        "https",
        "http",
    )
    path = _pattern(expected.path).fullmatch(actual.path)
    return bool(actual.netloc and scheme and path and same_query)


@lru_cache(maxsize=4096)
def _pattern(recorded: str) -> re.Pattern[str]:
    """The texts that have the form of a recorded one."""
    if _MADE_UP.fullmatch(recorded):
        return _MADE_UP
    out, end = "", 0
    for match in _VARYING.finditer(recorded):
        out += _literal(recorded[end : match.start()])
        *varying, moment, _ = match.groups()
        form = next((form for text, form in zip(varying, _FORMS, strict=True) if text), None)
        out += form or (_moment(moment) if moment else ".*?")
        end = match.end()
    return re.compile(out + _literal(recorded[end:]), re.DOTALL)


def _literal(text: str) -> str:
    """`any` stands for a name that was blotted out, where it is a whole segment."""
    return "/".join(
        "[^/]*" if segment == "any" else re.escape(segment) for segment in text.split("/")
    )


def _moment(recorded: str) -> str:
    """A moment is written with the same separator and zone; how many digits a second has varies."""
    zone = re.search(r"(Z|[+-]\d\d:\d\d)?$", recorded)
    ending = re.escape(zone[0]) if zone else ""
    fraction = r"(?:\.\d{1,7})?" if ending else ""
    return rf"\d{{4}}-\d\d-\d\d{recorded[10]}\d\d:\d\d:\d\d{fraction}{ending}"
