"""Builders: the azure backend before recorded answers, and what it makes of each.

Places of deviations: `/status` (how the answer is taken), `/read/...` (what is understood of it),
`/plan/FIELD` (what a plan would change although nothing has), `/request/...` (the body that mlctl
sends for the same resource, against the recorded one), `/apply` (an apply that does not end well).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from conformance import Card
from conformance.expected import Direction, listed, unexpected
from conformance.form import ABSENT, Deviation, compare_data
from conformance.verify import Verdict
from mlctl import pointer
from mlctl.emulator import Request, Response
from mlctl.kinds import Kind
from mlctl.kinds.address import Address
from mlctl.kinds.registry import ALL
from mlctl.kinds.resource import Resource
from mlctl.kinds.values import form_of_body, moving, stored_values
from mlctl.pointer import Data, nest
from mlctl.service_errors import ServiceError
from tests.builders.azure import BASE, SCOPE, azure, no, says
from tests.builders.paths import CASES
from tests.builders.plans import carried_out, planned
from tests.builders.replayed import CARDS, Replayed, answer, filled
from tests.builders.resources import declared, parsed

FILES: Mapping[str, Path] = {path.stem: path for path in (CASES / "azure").glob("*.yml")}
# What mlctl asks for besides resources.
_ASKED = ("invoke", "usages", "vmSizes", "locks", "workspace")
_FIRST_ERROR = 300


def is_met(card: Card) -> bool:
    """Whether mlctl ever sends such a request: to a kind that it knows, or for what it needs."""
    kind = ALL.get(card.kind)
    if kind is None:
        stores = card.kind == "datastore" and card.operation in ("get", "action")
        return stores or card.kind in _ASKED
    container = kind.versioned and "/versions" not in card.request.path
    instance = pointer.get(card.response.body, ("properties", "computeType")) == "ComputeInstance"
    never_asked = container or card.request.path.endswith(("/skus", "/token"))
    return not never_asked and not (instance and card.operation == "put")


def settled(card: Card) -> bool:
    """Whether it shows a resource that a file can declare, with no operation on it."""
    return _is_resource(card) and not moving(card.response.body)


def _is_resource(card: Card) -> bool:
    kind, body = ALL.get(card.kind), card.response.body
    if kind is None or not kind.declared or kind.runs or card.response.status >= _FIRST_ERROR:
        return False
    if card.operation not in ("get", "put", "patch") or not isinstance(body, dict):
        return False
    if (
        kind.arm.live_type is not None
        and pointer.get(body, kind.arm.live_type[0]) != kind.arm.live_type[1]
    ):
        return False
    return ("/versions/" in card.request.path) == kind.versioned


def declared_in(card: Card) -> list[Resource]:
    """What the YAML declares: that of the case, else what the request says; [] if there is none."""
    if card.id in FILES:
        return parsed(FILES[card.id].read_text())
    return said_by(card) if card.operation == "put" else []


def said_by(card: Card) -> list[Resource]:
    """What a file says that makes the recorded request."""
    body, parts = filled(card.request.body), card.request.path.split("/")
    kind = ALL[card.kind]
    own = {"name": parts[-3], "version": parts[-1]} if kind.versioned else {"name": parts[-1]}
    above = {kind.parent_key: parts[-3]} if kind.parent else {}
    values = stored_values(body, form_of_body(kind, body, SCOPE), SCOPE, with_service_fields=False)
    secrets = {
        one.at: pointer.get(body, one.wire)
        for one in kind.forms[-1].fields
        if one.secret and pointer.get(body, one.wire)
    }
    return [declared(card.kind, {**own, **above, **nest({**values, **secrets})})]


def verdict(card: Card) -> Verdict:
    """What the backend makes of a card."""
    found = tuple(_deviations(card))
    return Verdict(card, found, tuple(unexpected(card, found, listed(Direction.BACKEND))))


def _deviations(card: Card) -> Iterator[Deviation]:
    yield from _taken(card)
    if _is_resource(card):
        yield from _planned(card)
    if _is_resource(card) and card.operation == "put":
        yield from _written(card)
    if card.operation == "list" and card.response.status < _FIRST_ERROR:
        yield from _listed(card)
    if card.operation == "poll":
        yield from _polled(card)


def _taken(card: Card) -> Iterator[Deviation]:
    """Whether the status is told: a success as one, and an error by its status and code."""
    asked, arm = card.request, azure(Replayed([card])).backend.arm
    try:
        arm.send(asked.method, str(filled(asked.path)), "", dict(asked.query), asked.body)
        status = min(card.response.status, _FIRST_ERROR - 1)
    except ServiceError as error:
        status = error.status
        code = pointer.get(card.response.body, ("error", "code"))
        if error.code != code:
            yield Deviation("/read/code", code, error.code)
    if status != card.response.status:
        yield Deviation("/status", card.response.status, status)


def _planned(card: Card) -> Iterator[Deviation]:
    """What a plan would change of what was made just so."""
    resources = declared_in(card)
    backend = azure(Replayed.of(card.id)).backend
    for change in planned(backend, *resources).plan.changes:
        for one in change.fields:
            yield Deviation(f"/plan/{pointer.dotted(one.at)}", one.before, one.after)
        if moving(card.response.body) is not change.in_motion:
            yield Deviation("/plan", moving(card.response.body), change.in_motion)


def _written(card: Card) -> Iterator[Deviation]:
    """What an apply sends for a new resource, and whether it ends well."""
    service = Unmade.of(*_after(card), card.id)
    service.path = str(filled(card.request.path))
    service.region = str(pointer.get(card.request.body, ("location",)) or "eastus")
    backend = azure(service).backend
    for event in carried_out(planned(backend, *said_by(card)).work, backend):
        if event.error is not None:
            yield Deviation("/apply", "done", str(event.error))
    sent = service.bodies[0] if service.bodies else None
    told = CARDS[next(_after(card), card.id)].response.body
    for one in compare_data(filled(card.request.body), sent, ("request",)):
        value = one.recorded if one.answered == ABSENT else one.answered
        if not _is_told(value, pointer.get(filled(told), pointer.parse(one.at)[1:])):
            yield one


def _is_told(value: Data, told: Data) -> bool:
    """Whether the service says a value of its own: to send it, or not, is the same."""
    if isinstance(value, dict) and isinstance(told, dict):
        return all(_is_told(held, told.get(key)) for key, held in value.items())
    return bool(value == told) and value is not None


def _after(card: Card) -> Iterator[str]:
    """The card that reads the resource once it has settled, before it is written again."""
    for one in CARDS.values():
        same = one.request.path == card.request.path and one.operation == "get"
        if same and settled(one) and card.id in _unwritten(one):
            yield one.id


def _unwritten(card: Card) -> set[str]:
    """The cards before one, back to the last write."""
    found: set[str] = set()
    for each in card.follows:
        found.add(each)
        if CARDS[each].operation not in ("put", "patch", "delete"):
            found |= _unwritten(CARDS[each])
    return found


class Unmade(Replayed):
    """A service without the resource at `path` until it is put; its operations end at once."""

    path: str = ""
    region: str = "eastus"

    def __call__(self, request: Request) -> Response:
        if request.method == "PUT":
            self.path = ""
        if "/mfeOperations" in request.path or "/computeOperations" in request.path:
            return says(200, {"status": "Succeeded"})
        if request.method == "GET" and request.path == self.path:
            return no(404, "NotFound")
        found, text = super().__call__(request), f'"location": "{self.region}"'
        body = found.body.replace(b'"location": "eastus"', text.encode())
        if request.method == "GET":
            for state in (b'"Creating"', b'"Updating"'):
                body = body.replace(state, b'"Succeeded"')
        return replace(found, body=body)


def _listed(card: Card) -> Iterator[Deviation]:
    """Whether the rows of a list are found: all of them, or of versions the newest."""
    kind, path = ALL.get(card.kind), card.request.path
    if kind is None or kind.runs or not kind.declared:
        return
    backend, rows = azure(Replayed.of(card.id)).backend, filled(card.response.body["value"])
    if "$top" in card.request.query:
        found = backend.read([Address(kind.name, card.request.path.split("/")[-2])])
        ids = [str(live.body["id"]) for live in found.values()]
    elif kind.versioned:
        name = Address(kind.name, card.request.path.split("/")[-2])
        asked = [name.at(str(row["name"])) for row in rows] + [name.at(one) for one in _OTHERS]
        ids = [str(live.body["id"]) for live in backend.read(asked).values()]
    else:
        above = path.split("/")[-2] if kind.parent else None
        ids = [live.address.id(SCOPE) for live in backend.list(kind.name, above)]
    shown = (row.get("id") or f"{filled(path)}/{row['name']}" for row in rows if _is_of(kind, row))
    wanted = sorted(map(str, shown))
    if sorted(ids) != wanted:
        yield Deviation("/read", wanted, sorted(ids))


_OTHERS = ("none", "neither", "nor-this")  # more than a few are read as a list


def _is_of(kind: Kind, row: Mapping[str, Data]) -> bool:
    live_type = kind.arm.live_type
    return live_type is None or bool(pointer.get(row, live_type[0]) == live_type[1])


def _polled(card: Card) -> Iterator[Deviation]:
    """Whether an operation is waited for while it goes on, and no longer."""
    if card.response.status >= _FIRST_ERROR:
        return  # of the result of what has ended; an operation that has a status is asked for that
    path, looks = str(filled(card.request.path)), 0
    state = (card.response.body or {}).get("status", "Succeeded")
    ended = (card.response.status, state) == (200, "Succeeded")
    header = "Location" if "Result" in path else "Azure-AsyncOperation"

    def service(request: Request) -> Response:
        nonlocal looks
        if request.method == "DELETE":
            return says(202, None, {header: f"{BASE}{path}"})
        looks += 1
        return answer(card) if looks == 1 else says(200, {"status": "Succeeded"})

    azure(service).backend.arm.begin("DELETE", "/subscriptions/s/computes/c").wait()
    if looks != (1 if ended else 2):
        yield Deviation("/read/polls", 1 if ended else 2, looks)
