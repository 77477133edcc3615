"""Cards held against a service: each one asked again, in its story, and the answers compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from conformance.arrange import ENDED, OPERATION, Arranger, Service, at_url
from conformance.card import Card, CardRequest, CardResponse
from conformance.expected import Direction, listed, unexpected
from conformance.form import Deviation, compare
from conformance.story import Learned, Place, filled, in_known_regions, region, stories
from mlctl.pointer import get

_TRIES = 40  # until an operation has ended as the recorded one has
_ACCEPTED = 202
_NO_WORKSPACE = "ParentResourceNotFound"  # a code of the resource manager's own
_LATEST = "2024-04-01"  # the api-version of cards that have none


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a card: all deviations, and among them those that nobody expects.

    `troubles` say what could not be arranged before it.
    """

    card: Card
    deviations: tuple[Deviation, ...]
    unexpected: tuple[Deviation, ...]
    troubles: tuple[str, ...] = ()

    @property
    def status_agrees(self) -> bool:
        """Whether the status is the recorded one."""
        return all(deviation.at != "/status" for deviation in self.deviations)


@dataclass(frozen=True, slots=True)
class Score:
    """How many of some cards agree: in the status, and whole; and how many deviate unexpectedly."""

    cards: int
    status: int
    whole: int
    deviating: int

    @classmethod
    def of(cls, verdicts: Iterable[Verdict]) -> Score:
        """The score of some verdicts."""
        rows = list(verdicts)
        return cls(
            len(rows),
            sum(verdict.status_agrees for verdict in rows),
            sum(not verdict.deviations for verdict in rows),
            sum(bool(verdict.unexpected) for verdict in rows),
        )

    def __str__(self) -> str:
        of = f"of {self.cards}"
        return f"status {self.status} {of}, whole {self.whole} {of}, deviating {self.deviating}"


def verify(
    cards: Sequence[Card], service: Callable[[], Service], exemplars: Sequence[Card], run: str
) -> Iterator[Verdict]:
    """Repeat the stories of some cards against services, each in a workspace of its own.

    `service` gives the service of a story; `exemplars` replay how kinds are written, beyond the
    cards themselves; `run` (hex digits) keeps the names of two runs apart.
    """
    numbers = count(1)
    more = (exemplar for exemplar in exemplars if exemplar not in cards)
    public = [moved for card in (*cards, *more) for moved in in_known_regions([card])]
    for story in stories(cards):
        number = next(numbers)
        subscription = f"{run:0>8.8}-cafe-4000-8000-{number:012x}"
        place = Place(subscription, "cards", f"story{number}")
        yield from _Replayer(service(), place, public).replay(in_known_regions(story))


class _Replayer:
    """Repeats one story."""

    def __init__(self, service: Service, place: Place, exemplars: Sequence[Card]) -> None:
        self._service = service
        self._place = place
        self._arranger = Arranger(service, place, exemplars)
        self._learned = Learned()
        self._running: list[CardResponse] = []

    def replay(self, story: Sequence[Card]) -> Iterator[Verdict]:
        if get(story[0].response.body, ("error", "code")) != _NO_WORKSPACE:
            self._make_workspace(region(story))
        for number, card in enumerate(story):
            card_here = filled(card, self._place, self._learned)
            version = card.api_version or _LATEST
            if card.operation == "poll":
                card_here = self._of_operation(card, card_here, version)
                if card.response.is_error:  # it had ended, and was asked about too late
                    self._settle()
            else:
                self._settle()
                for later in story[number:]:
                    self._arranger.older(
                        filled(later, self._place, self._learned), card_here, version
                    )
                self._arranger.before(card_here, version)
                card_here = filled(card, self._place, self._learned)
            answered = self._answer(card_here, version)
            self._learned.compare(card_here.response, answered)
            if any(name.lower() == OPERATION for name in answered.headers):
                self._running.append(answered)
            deviations = compare(card_here.response, answered)
            unexpected_ones = unexpected(card, deviations, listed(Direction.EMULATOR))
            yield Verdict(card, deviations, tuple(unexpected_ones), tuple(self._arranger.troubles))
            self._arranger.troubles.clear()

    def _make_workspace(self, location: str) -> None:
        query = {"api-version": _LATEST}
        self._service(
            CardRequest("PUT", self._place.path, query=query, body={"location": location})
        )

    def _settle(self) -> None:
        for answered in self._running:
            self._arranger.settle(answered)
        self._running.clear()

    def _of_operation(self, card: Card, card_here: Card, version: str) -> Card:
        """A poll, about an operation of ours: one that is begun now, where no card before did."""
        token = card.request.path.rpartition("/")[2]
        if token in self._learned.names or token not in card_here.request.path:
            return card_here
        begun = self._arranger.begun(card.kind, version)
        url = {name.lower(): text for name, text in (begun.headers if begun else {}).items()}.get(
            OPERATION
        )
        if begun is not None:
            self._running.append(begun)
        if url is not None:
            self._learned.names[token] = url.partition("?")[0].rpartition("/")[2]
        return filled(card, self._place, self._learned)

    def _answer(self, card_here: Card, version: str) -> CardResponse:
        """The answer; a poll that was recorded at the end is repeated until the end."""
        request = (
            self._at_endpoint(card_here.request, version)
            if card_here.request.host
            else card_here.request
        )
        answered = self._service(request)
        ended = card_here.operation == "poll" and not _goes_on(card_here.response)
        for _ in range(_TRIES if ended else 0):
            if not _goes_on(answered):
                break
            answered = self._service(request)
        return answered

    def _at_endpoint(self, request: CardRequest, version: str) -> CardRequest:
        """A request to the host of an endpoint goes where its scoringUri leads."""
        name, _, domain = (request.host or "").partition(".")
        if ".inference." not in domain:
            return request
        path = f"{self._place.path}/batchEndpoints/{name}"
        endpoint = self._service(CardRequest("GET", path, query={"api-version": version}))
        uri = get(endpoint.body, ("properties", "scoringUri"))
        if not isinstance(uri, str):
            return request
        return replace(request, path=at_url(uri).path, host=None)


def _goes_on(response: CardResponse) -> bool:
    """Whether the operation goes on of which this is the status, or the result."""
    running = get(response.body, ("status",)) not in (*ENDED, None)
    return running or response.status == _ACCEPTED
