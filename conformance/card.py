"""A card: one request to Azure and the answer that was recorded, in a JSON file.

In texts, `{subscription}`, `{resourceGroup}`, `{workspace}`, `{location}` and the like stand for
names of the recording; GUIDs are `00000000-0000-0000-0000-0000000000NN`, stable within a story.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from mlctl import files
from mlctl.pointer import Data

RECORDED = Path(__file__).parent / "recorded"  # the cards that mlctl brings along
_FIRST_ERROR = 400
_LARGEST = 10_000_000  # bytes of a card


class CardError(Exception):
    """A file is no card; the message says which file and why."""


@dataclass(frozen=True, slots=True)
class CardRequest:
    """What was asked. `host` is None where the resource manager was."""

    method: str
    path: str
    host: str | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Data = None


@dataclass(frozen=True, slots=True)
class CardResponse:
    """What was answered: the headers are those that say something, in their recorded case."""

    status: int
    headers: Mapping[str, str]
    body: Data

    @property
    def is_error(self) -> bool:
        """Whether the status is that of an error."""
        return self.status >= _FIRST_ERROR


@dataclass(frozen=True, slots=True)
class Card:
    """One exchange. `follows` are the ids of the cards that came before it in its story."""

    id: str
    kind: str
    operation: str
    source: Mapping[str, Data]
    api_version: str | None
    request: CardRequest
    response: CardResponse
    follows: tuple[str, ...] = ()
    settles: str = ""
    note: str = ""


def read(path: Path) -> Card:
    """The card in a file.

    Raises:
        CardError: the file cannot be read, is no JSON, or has not the shape of a card.
    """
    try:
        data = json.loads(files.read(path, _LARGEST))
        return _checked(
            Card(
                **{
                    **data,
                    "request": CardRequest(**data["request"]),
                    "response": CardResponse(**data["response"]),
                    "follows": tuple(data.get("follows", ())),
                }
            )
        )
    except OSError as error:
        raise CardError(f"{path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise CardError(f"{path}: it is no JSON: {error}") from None
    except (TypeError, KeyError) as error:
        raise CardError(f"{path}: it is no card: {error}") from None


def as_data(card: Card) -> dict[str, Data]:
    """The card as JSON has it."""
    data = asdict(card)
    request = data["request"]
    if request["host"] is None:
        del request["host"]
    if not card.note:
        del data["note"]
    return data | {"follows": list(card.follows)}


def _checked(card: Card) -> Card:
    """The card; TypeError where a part of it has another type than it should."""
    request, response = card.request, card.response
    texts = (card.id, card.kind, card.operation, request.method, request.path, *card.follows)
    maps = (request.query, request.headers, response.headers)
    pairs = [text for mapping in maps if isinstance(mapping, dict) for text in mapping.values()]
    if not all(isinstance(mapping, dict) for mapping in maps):
        raise TypeError("a query, or headers, are no object")
    if not all(isinstance(text, str) for text in (*texts, *pairs, request.host or "")):
        raise TypeError("a name, a path or a header is no text")
    if type(response.status) is not int:
        raise TypeError("the status is no number")
    return card


def load(folder: Path = RECORDED) -> tuple[Card, ...]:
    """The cards of a folder, by name of file.

    Raises:
        CardError: a file is no card.
    """
    return tuple(read(path) for path in sorted(folder.glob("*.json")))
