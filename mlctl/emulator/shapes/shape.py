"""The shape of an answer: its keys in the service's order, and the value of each.

A shape is a mapping from keys to rules. What is stored is the state of the cloud; a shape says how
the service answers: what is null where nothing is set, what is left out, what waits until an
operation has ended, what came with an api-version. A stored key that a shape does not name was sent
by somebody who knows more of the service, and follows as it is.

    ENDPOINT = {"name": stored, "identity": if_set, "properties": section({"authMode": stored})}
    body = render(ENDPOINT, stored, Occasion(call))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import NamedTuple, TypeAlias

from mlctl.dataclasses import dataclass
from mlctl.emulator.requests.call import Call
from mlctl.kinds.address import Address
from mlctl.pointer import Data

OMITTED: Data = object()  # what a rule gives where the key is to be left out


class Phase(Enum):
    """Whether the first write of a resource still runs, a later one does, or none."""

    CREATING = "Creating"
    CHANGING = "Changing"
    DONE = "Done"


@dataclass(frozen=True, slots=True)
class Occasion:
    """What an answer is about: the call, and the resource with its provisioning state.

    `operation` is the number of the last operation, None if there was none.
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


class ResponseField(NamedTuple):
    """One key of an answer: what is stored there, and what the request sent there (else None)."""

    stored: Data
    sent: Data
    occasion: Occasion


Rule: TypeAlias = Callable[[ResponseField], Data]
Shape: TypeAlias = Mapping[str, Rule]


def render(
    shape: Shape, stored: Mapping[str, Data], occasion: Occasion, sent: Data = None
) -> dict[str, Data]:
    """The JSON object of a shape over what is stored; `sent` is the body of the request."""
    sent_keys = sent if isinstance(sent, Mapping) else {}
    answer: dict[str, Data] = {}
    for key, rule in shape.items():
        value = rule(ResponseField(stored.get(key), sent_keys.get(key), occasion))
        if value is not OMITTED:
            answer[key] = value
    return answer | {key: value for key, value in stored.items() if key not in shape}


def keys(rule: Rule, *names: str) -> Shape:
    """Keys of the same rule, in this order."""
    return dict.fromkeys(names, rule)


def resource(properties: Rule, system_data: Rule) -> Shape:
    """Return the shape of a resource that is shown without a region and tags."""
    return {
        **keys(stored, "id", "name", "type"),
        "properties": properties,
        "systemData": system_data,
    }


def stored(field: ResponseField) -> Data:
    """Show what is stored; null if nothing is."""
    return field.stored


def if_set(field: ResponseField) -> Data:
    """Show what is stored; no key if nothing is."""
    return OMITTED if field.stored is None else field.stored


def or_null(field: ResponseField) -> Data:
    """Show what is stored; null if that is missing or empty."""
    return field.stored or None


def null(_: ResponseField) -> Data:
    """Always null."""


def omitted(_: ResponseField) -> Data:
    """No key."""
    return OMITTED


def time(field: ResponseField) -> Data:
    """Show a time as .NET writes it: `2024-07-24T08:52:31.067+00:00`, without zeros at the end."""
    return dotnet_time(field.stored)


def state(field: ResponseField) -> Data:
    """The provisioning state."""
    return field.occasion.state


def always(value: Data) -> Rule:
    """Show the same in every answer."""
    return lambda _: value


def otherwise(default: Data) -> Rule:
    """Show what is stored, or a value of the service if nothing is."""
    return lambda field: default if field.stored is None else field.stored


def section(shape: Shape) -> Rule:
    """An object of its own shape, whether anything of it is stored or not.

    What somebody has sent in place of an object is shown as it is.
    """

    def value(field: ResponseField) -> Data:
        if field.stored and not isinstance(field.stored, Mapping):
            return field.stored
        return render(shape, field.stored or {}, field.occasion, field.sent)

    return value


def if_any(shape: Shape, nothing: Rule = null) -> Rule:
    """Show an object of its own shape; `nothing` if nothing of it is stored."""
    inside = section(shape)
    return lambda field: inside(field) if field.stored else nothing(field)


def as_sent(rule: Rule, unsent: Rule = null) -> Rule:
    """While an operation runs, `unsent` for keys that its request did not send."""

    def value(field: ResponseField) -> Data:
        goes_on = field.occasion.phase is not Phase.DONE
        return (unsent if goes_on and field.sent is None else rule)(field)

    return value


def when_done(rule: Rule, meanwhile: Rule = null) -> Rule:
    """`meanwhile` as long as an operation runs."""
    return lambda field: (rule if field.occasion.phase is Phase.DONE else meanwhile)(field)


def once_created(rule: Rule, until_created: Rule = null) -> Rule:
    """`until_created` until the resource has been created."""
    return lambda field: (until_created if field.occasion.phase is Phase.CREATING else rule)(field)


def since(version: str, rule: Rule) -> Rule:
    """A key that came with an api-version."""
    return lambda field: rule(field) if field.occasion.api_version >= version else OMITTED


def preview_since(version: str, rule: Rule) -> Rule:
    """A key of previews, from one api-version on."""
    from_version = since(version, rule)
    return lambda field: from_version(field) if "preview" in field.occasion.api_version else OMITTED


def versions(rule: Rule, *, stable: str = "never", preview: str = "never", end: str = "") -> Rule:
    """A key of stable api-versions from one on, and of previews from one on and before another.

    Source: the models of 2022-02-01-preview to 2025-01-01-preview in azure-ai-ml 1.28.1.
    """

    def value(field: ResponseField) -> Data:
        version = field.occasion.api_version
        if "preview" not in version:
            return rule(field) if version >= stable else OMITTED
        return rule(field) if preview <= version and (not end or version < end) else OMITTED

    return value


def until(version: str, rule: Rule) -> Rule:
    """A key that is there in api-versions before this one."""
    return lambda field: rule(field) if field.occasion.api_version < version else OMITTED


def dotnet_time(text: Data) -> Data:
    """ARM's `2026-01-01T00:01:00.500Z` as .NET writes it: `2026-01-01T00:01:00.5+00:00`."""
    if not isinstance(text, str) or not text.endswith("Z"):
        return text
    seconds, _, fraction = text[:-1].partition(".")
    digits = fraction.rstrip("0")
    return f"{seconds}{'.' if digits else ''}{digits}+00:00"
