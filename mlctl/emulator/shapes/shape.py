"""The shape of an answer: which keys it has, in the service's order, and what stands at each.

A shape is a mapping from keys to rules. What is stored is the state of the cloud; a shape says how
the service tells it: what is null where nothing is set, what is left out, what waits until an
operation has ended, what came with an api-version. A stored key that a shape does not name was sent
by somebody who knows more of the service, and follows as it is.

    ENDPOINT = {"name": held, "identity": if_set, "properties": section({"authMode": held})}
    body = tell(ENDPOINT, stored, Occasion(call))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from mlctl.emulator.requests.call import Call
from mlctl.kinds.address import Address
from mlctl.pointer import Data

OMITTED: Data = object()  # what a rule gives where the key is to be left out


class Phase(Enum):
    """How far a resource is: its first write goes on, a later one does, or none."""

    CREATING = "Creating"
    CHANGING = "Changing"
    DONE = "Done"


@dataclass(frozen=True, slots=True)
class Occasion:
    """What an answer is about: the call, and the resource with its provisioning state.

    `operation` is the number of the operation that goes on, None if there is none.
    """

    call: Call
    address: Address | None = None
    state: str = "Succeeded"
    operation: int | None = None
    phase: Phase = Phase.DONE

    @property
    def api_version(self) -> str:
        """The api-version that was asked for; they compare as texts."""
        return self.call.request.query_value("api-version")


@dataclass(frozen=True, slots=True)
class Place:
    """One key of an answer: what is stored there, and what the request sent there (else None)."""

    stored: Data
    sent: Data
    occasion: Occasion


Rule: TypeAlias = Callable[[Place], Data]
Shape: TypeAlias = Mapping[str, Rule]


def tell(
    shape: Shape, stored: Mapping[str, Data], occasion: Occasion, sent: Data = None
) -> dict[str, Data]:
    """The JSON object of a shape over what is stored; `sent` is the body of the request."""
    sent_keys = sent if isinstance(sent, Mapping) else {}
    values = (
        (key, rule(Place(stored.get(key), sent_keys.get(key), occasion)))
        for key, rule in shape.items()
    )
    unshaped = {key: value for key, value in stored.items() if key not in shape}
    return {key: value for key, value in values if value is not OMITTED} | unshaped


def held(place: Place) -> Data:
    """What is stored; null where nothing is."""
    return place.stored


def if_set(place: Place) -> Data:
    """What is stored; no key where nothing is."""
    return OMITTED if place.stored is None else place.stored


def or_null(place: Place) -> Data:
    """What is stored; null where that is nothing, or empty."""
    return place.stored or None


def null(_: Place) -> Data:
    """Always null."""


def omitted(_: Place) -> Data:
    """No key."""
    return OMITTED


def time(place: Place) -> Data:
    """A time as .NET writes it: `2024-07-24T08:52:31.067+00:00`, without zeros at the end."""
    return dotnet_time(place.stored)


def state(place: Place) -> Data:
    """The provisioning state."""
    return place.occasion.state


def always(value: Data) -> Rule:
    """The same in every answer."""
    return lambda _: value


def otherwise(default: Data) -> Rule:
    """What is stored, or a value of the service's own where nothing is."""
    return lambda place: default if place.stored is None else place.stored


def section(shape: Shape) -> Rule:
    """An object of its own shape, whether anything of it is stored or not."""
    return lambda place: tell(shape, place.stored or {}, place.occasion, place.sent)


def if_any(shape: Shape, nothing: Rule = null) -> Rule:
    """An object of its own shape; `nothing` where nothing of it is stored."""
    inside = section(shape)
    return lambda place: inside(place) if place.stored else nothing(place)


def as_sent(rule: Rule, unsent: Rule = null) -> Rule:
    """While an operation goes on, `unsent` of what its request did not send."""

    def told(place: Place) -> Data:
        goes_on = place.occasion.phase is not Phase.DONE
        return (unsent if goes_on and place.sent is None else rule)(place)

    return told


def when_done(rule: Rule, meanwhile: Rule = null) -> Rule:
    """`meanwhile` as long as an operation goes on."""
    return lambda place: (rule if place.occasion.phase is Phase.DONE else meanwhile)(place)


def once_created(rule: Rule, until_created: Rule = null) -> Rule:
    """`before` until the resource has been created."""
    return lambda place: (until_created if place.occasion.phase is Phase.CREATING else rule)(place)


def since(version: str, rule: Rule) -> Rule:
    """A key that came with an api-version."""
    return lambda place: rule(place) if place.occasion.api_version >= version else OMITTED


def preview_since(version: str, rule: Rule) -> Rule:
    """A key of previews, from one api-version on."""
    from_version = since(version, rule)
    return lambda place: from_version(place) if "preview" in place.occasion.api_version else OMITTED


def until(version: str, rule: Rule) -> Rule:
    """A key that is there in api-versions before this one."""
    return lambda place: rule(place) if place.occasion.api_version < version else OMITTED


def dotnet_time(text: Data) -> Data:
    """ARM's `2026-01-01T00:01:00.500Z` as .NET writes it: `2026-01-01T00:01:00.5+00:00`."""
    if not isinstance(text, str) or not text.endswith("Z"):
        return text
    seconds, _, fraction = text[:-1].partition(".")
    digits = fraction.rstrip("0")
    return f"{seconds}{'.' if digits else ''}{digits}+00:00"
