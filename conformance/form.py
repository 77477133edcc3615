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
# One recorder does not tell an empty body from `null`, so its length says nothing.
_UNTOLD = {"content-length", "content-type", "x-request-time", "x-envoy-upstream-service-time"}
_ROWS = ("value", "values", "nodes")  # keys of lists whose rows differ from call to call
_NAMES = ("id", "name", "family", "localizedValue", "value")  # what tells one row from another
_GUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_MOMENT = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,7})?(?:Z|[+-]\d\d:\d\d)?"
_DASHED = r"\d{4}(?:-\d\d){5}-\d{7}"  # a moment as a version of a component
_OPERATION = rf"[a-z]+:{_GUID}:{_GUID}"
_JOB = rf"(?:batchjob-)?{_GUID}"
_VARYING = re.compile(
    rf"({_OPERATION})|({_GUID})|({_DASHED})|({_MOMENT})|(\{{\w+\}}|REDACTED|user@example\.com)"
)
_MADE_UP = re.compile(r"[a-z]+_[a-z]+_(?=[a-z]*\d)[a-z0-9]{8,10}")  # blue_store_3k1gd32x
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
    found: list[Deviation] = []
    if recorded.status != answered.status:
        found.append(Deviation("/status", recorded.status, answered.status))
        if recorded.is_error != answered.is_error:
            why = Deviation("/body", _error(recorded.body), _error(answered.body))
            return (*found, why)
    found += _headers(recorded.headers, answered.headers)
    return (*found, *compare_data(recorded.body, answered.body, ("body",)))


def _error(body: Data) -> Data:
    """The error of a body, short."""
    error = pointer.get(body, ("error",))
    return f"{error.get('code')}: {error.get('message')}" if isinstance(error, dict) else "..."


def compare_data(recorded: Data, answered: Data, at: Pointer = ()) -> Iterator[Deviation]:
    """Where plain data is not as recorded."""
    if isinstance(recorded, Mapping) and isinstance(answered, Mapping):
        for key in [*recorded, *(each for each in answered if each not in recorded)]:
            here = (*at, key)
            if key not in answered or key not in recorded:
                pair = (recorded.get(key, ABSENT), answered.get(key, ABSENT))
                yield Deviation(pointer.text(here), *pair)
            else:
                yield from compare_data(recorded[key], answered[key], here)
    elif isinstance(recorded, list) and isinstance(answered, list):
        rows = bool(at) and at[-1] in _ROWS and all(isinstance(one, dict) for one in recorded)
        yield from (_rows if rows else _items)(recorded, answered, at)
    elif isinstance(recorded, str) and isinstance(answered, str):
        if not _same_form(recorded, answered):
            yield Deviation(pointer.text(at), recorded, answered)
    elif type(recorded) is not type(answered) or recorded != answered:
        yield Deviation(pointer.text(at), recorded, answered)


def _headers(recorded: Mapping[str, str], answered: Mapping[str, str]) -> Iterator[Deviation]:
    said = {name.lower(): text for name, text in recorded.items()}
    ours = {name.lower(): text for name, text in answered.items()}
    for name in [*said, *sorted(_STRICT & {*ours} - {*said})]:
        if name in _UNTOLD:
            continue
        pair = (said.get(name, ABSENT), ours.get(name, ABSENT))
        counts = name.startswith("x-ms-ratelimit-")  # how many are left, not which limit it is
        if ABSENT in pair or not (pair[1].isdecimal() if counts else _same_form(*pair)):
            yield Deviation(f"/headers/{name}", *pair)


def _items(recorded: Sequence[Data], answered: Sequence[Data], at: Pointer) -> Iterator[Deviation]:
    if len(recorded) != len(answered):
        yield Deviation(pointer.text(at), list(recorded), list(answered))
        return
    for number, (one, other) in enumerate(zip(recorded, answered, strict=True)):
        yield from compare_data(one, other, (*at, number))


def _rows(recorded: Sequence[Data], answered: Sequence[Data], at: Pointer) -> Iterator[Deviation]:
    """Rows with the id of a recorded one are compared with that, all others with the nearest."""
    if not recorded or not answered:
        if recorded or answered:
            yield Deviation(pointer.text(at), list(recorded), list(answered))
        return
    known = {one["id"]: one for one in recorded if _is_resource(one)}
    ours = [one.get("id") for one in answered if isinstance(one, dict)]
    for number, one in enumerate(answered):
        here = (*at, number)
        partner = known.get(one.get("id")) if isinstance(one, dict) else None
        if partner is not None:
            yield from compare_data(partner, one, here)
        else:
            tries = (tuple(_of_another(each, one, here)) for each in recorded)
            yield from min(tries, key=len)
    common = [each for each in known if each in ours]
    for missing in known.keys() - {*common}:
        yield Deviation(pointer.text((*at, missing)), missing, ABSENT)
    order = [each for each in ours if each in known]
    if order != common:
        yield Deviation(pointer.text(at), common, order)


def _of_another(recorded: Data, answered: Data, at: Pointer) -> Iterator[Deviation]:
    """The deviations of a row about something else than the recorded one."""
    for each in compare_data(recorded, answered, at):
        values = (each.recorded, each.answered)
        told = ABSENT not in values and all(
            isinstance(one, bool | int | float | str) for one in values
        )
        same_type = type(each.recorded) is type(each.answered)
        key = each.at.rpartition("/")[2]
        free = told and same_type and (key in _NAMES or not isinstance(each.recorded, str))
        if not free:
            yield each


def _is_resource(row: Data) -> bool:
    return isinstance(row.get("id"), str) and ("properties" in row or "systemData" in row)


def _same_form(recorded: str, answered: str) -> bool:
    if recorded in _ANY:
        return True
    if not _URL.match(recorded):
        return _pattern(recorded).fullmatch(answered) is not None
    one, other = urlsplit(recorded), urlsplit(answered)
    names = [
        sorted(name for name, _ in parse_qsl(each.query, keep_blank_values=True))
        for each in (one, other)
    ]
    same_query = names[0] == names[1] or "REDACTED" in one.query
    scheme = other.scheme == one.scheme or (one.scheme, other.scheme) == ("https", "http")
    path = _pattern(one.path).fullmatch(other.path)
    return bool(other.netloc and scheme and path and same_query)


@lru_cache(maxsize=4096)
def _pattern(recorded: str) -> re.Pattern[str]:
    """The texts that have the form of a recorded one."""
    if _MADE_UP.fullmatch(recorded):
        return _MADE_UP
    out, end = "", 0
    for found in _VARYING.finditer(recorded):
        out += _literal(recorded[end : found.start()])
        operation, guid, dashed, moment, _ = found.groups()
        forms = ((operation, _OPERATION), (guid, _JOB), (dashed, _DASHED))
        form = next((form for held, form in forms if held), None)
        out += form or (_moment(moment) if moment else ".*?")
        end = found.end()
    return re.compile(out + _literal(recorded[end:]), re.DOTALL)


def _literal(text: str) -> str:
    """`any` stands for a name that was blotted out, where it is a whole segment."""
    return "/".join("[^/]*" if each == "any" else re.escape(each) for each in text.split("/"))


def _moment(recorded: str) -> str:
    """A moment is written with the same separator and zone; how many digits a second has varies."""
    zone = re.search(r"(Z|[+-]\d\d:\d\d)?$", recorded)
    ending = re.escape(zone[0]) if zone else ""
    fraction = r"(?:\.\d{1,7})?" if ending else ""
    return rf"\d{{4}}-\d\d-\d\d{recorded[10]}\d\d:\d\d:\d\d{fraction}{ending}"
