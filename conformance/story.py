"""Stories: cards in the order in which they were recorded, repeated in a workspace of ours."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from conformance.card import Card, CardRequest, CardResponse
from mlctl import catalog
from mlctl.pointer import Data, get

_PLACE = re.compile(
    r'/locations/([a-z0-9]+)|"location": "([a-z0-9]+)"|"Location", "info": \{"value": "([a-z0-9]+)"'
    r"|azureml://([a-z0-9]+)\.api\.azureml\.ms"
)
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_GUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
USUAL_REGION = "eastus"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a story is repeated: the names that its placeholders stand for."""

    subscription: str
    resource_group: str
    workspace: str

    @property
    def path(self) -> str:
        """The path of the workspace."""
        group = f"/subscriptions/{self.subscription}/resourceGroups/{self.resource_group}"
        return f"{group}/providers/Microsoft.MachineLearningServices/workspaces/{self.workspace}"

    def fill(self, text: str) -> str:
        """A text with the names of this place."""
        names = (("subscription", self.subscription), ("resourceGroup", self.resource_group))
        for name, value in (*names, ("workspace", self.workspace)):
            text = text.replace(f"{{{name}}}", value)
        return text


@dataclass(slots=True)
class Learned:
    """What the service made up and the answers showed: names and ids, recorded and ours."""

    names: dict[str, str] = field(default_factory=dict)

    def compare(self, recorded: CardResponse, answered: CardResponse) -> None:
        """Learn from an answer what stands for the recorded one's ids."""
        ours = {name.lower(): text for name, text in answered.headers.items()}
        for name, text in recorded.headers.items():
            self._texts(urlsplit(text).path, urlsplit(ours.get(name.lower(), "")).path)
        self._data(recorded.body, answered.body)

    def _data(self, recorded: Data, answered: Data) -> None:
        if isinstance(recorded, dict) and isinstance(answered, dict):
            for key in recorded.keys() & answered.keys():
                self._data(recorded[key], answered[key])
        elif isinstance(recorded, str) and isinstance(answered, str):
            self._texts(recorded, answered)

    def _texts(self, recorded: str, answered: str) -> None:
        recorded_parts, our_parts = recorded.split("/"), answered.split("/")
        if len(recorded_parts) == len(our_parts):
            for mine, theirs in zip(recorded_parts, our_parts, strict=True):
                if mine != theirs and (_GUID.search(mine) or ":REDACTED" in mine):
                    self.names[mine] = theirs

    def translate(self, text: str) -> str:
        """A text of a card with our names and ids."""
        for recorded, ours in self.names.items():
            text = text.replace(recorded, ours)
        return text


def stories(cards: Iterable[Card]) -> tuple[tuple[Card, ...], ...]:
    """The cards by story, each after those that it follows; cards that are not there do not count.

    A story comes where its first card does.
    """
    cards_by_id = {card.id: card for card in cards}
    story_of: dict[str, dict[str, Card]] = {}
    for card in cards_by_id.values():
        _join(card, cards_by_id, story_of)
    distinct = {id(story): story for story in story_of.values()}
    return tuple(_polled_at_once(story) for story in distinct.values())


def _polled_at_once(story: Mapping[str, Card]) -> tuple[Card, ...]:
    """The cards of a story, those about an operation as soon as what they follow has come."""
    ordered: dict[str, Card] = {}
    waiting = [*story.values()][::-1]
    while waiting:
        card = waiting.pop()
        previous = [story[card_id] for card_id in card.follows if card_id in story]
        if card.id in ordered or any(other.id not in ordered for other in previous):
            continue
        ordered[card.id] = card
        polls = [later for later in story.values() if _is_poll_of(later, card)]
        waiting += reversed(polls)
    return tuple({**ordered, **story}.values())


def _is_poll_of(later: Card, card: Card) -> bool:
    return later.operation == "poll" and card.id in later.follows


def _join(
    card: Card, cards_by_id: Mapping[str, Card], story_of: dict[str, dict[str, Card]]
) -> None:
    """Put a card, and before it what it follows, into one story."""
    if card.id in story_of:
        return
    story_of[card.id] = {}  # stops where cards follow each other in a ring
    story: dict[str, Card] = {}
    for previous in (cards_by_id[card_id] for card_id in card.follows if card_id in cards_by_id):
        _join(previous, cards_by_id, story_of)
        story |= story_of[previous.id]
    story[card.id] = card
    for card_id in story:
        story_of[card_id].update(story)
    shared = story_of[card.id]
    for card_id in story:
        story_of[card_id] = shared


def region(story: Sequence[Card]) -> str:
    """The region of the workspace: that of polling addresses, errors, runs or resources."""
    texts = [_as_text(card) for card in story]
    matches = [match for text in texts for match in _PLACE.finditer(text)]
    surest_first = (match[group] for group in (1, 3, 4, 2) for match in matches if match[group])
    return next(surest_first, USUAL_REGION)


def in_known_regions(story: Sequence[Card]) -> tuple[Card, ...]:
    """The story in public regions: those of test rings are replaced by one that it does not use."""
    texts = [_as_text(card) for card in story]
    used = dict.fromkeys(m[m.lastindex or 0] for text in texts for m in _PLACE.finditer(text))
    free = iter(sorted(catalog.regions() - used.keys()))
    replacements = {name: next(free) for name in used if not catalog.knows_region(name)}
    return tuple(_rewritten(card, replacements) for card in story)


def _rewritten(card: Card, replacements: Mapping[str, str]) -> Card:
    text = _as_text(card)
    for name, replacement in replacements.items():
        text = re.sub(rf"\b{name}\b", replacement, text)
    return _with_text(card, text)


def filled(card: Card, place: Place, learned: Learned) -> Card:
    """A card with the names of a place; in the request every placeholder is a plain name."""
    card_here = _with_text(_named(card), place.fill(_as_text(_named(card))))
    request = _PLACEHOLDER.sub(
        r"\1", learned.translate(json.dumps(_request_data(card_here.request)))
    )
    return replace(card_here, request=CardRequest(**json.loads(request)))


def _named(card: Card) -> Card:
    """The card; a name that was blotted out of its URL is the one that the answer has."""
    path = str(get(card.response.body, ("id",)))
    blotted = card.request.path == f"{path.rpartition('/')[0]}/any"
    return replace(card, request=replace(card.request, path=path)) if blotted else card


def ids(data: Data, place: Place) -> Iterator[str]:
    """The paths of resources of the workspace that plain data names, each once."""
    text = json.dumps(data)
    pattern = re.compile(re.escape(place.path) + r'(/[^"?\\\s:,;]+)', re.IGNORECASE)
    yield from dict.fromkeys(place.path + match[1] for match in pattern.finditer(text))


def _request_data(request: CardRequest) -> dict[str, Data]:
    names = ("method", "path", "host", "query", "headers", "body")
    return {name: getattr(request, name) for name in names}


def _as_text(card: Card) -> str:
    response = {name: getattr(card.response, name) for name in ("status", "headers", "body")}
    return json.dumps([_request_data(card.request), response])


def _with_text(card: Card, text: str) -> Card:
    request, response = json.loads(text)
    return replace(card, request=CardRequest(**request), response=CardResponse(**response))
