"""The shape of an answer: its keys in the service's order, and the value of each.

A shape is a mapping from keys to rules. What is stored is the state of the cloud; a shape says how
the service answers: what is null where nothing is set, what is left out, what waits until an
operation has ended, what came with an api-version. A stored key that a shape does not name was sent
by somebody who knows more of the service, and follows as it is.

`shapes.yml` has the shapes by name. A rule is a text there, and an object a shape inside another:

    endpoint:
      like: resource                  # first the keys of another shape
      id, name, type: stored          # what is stored; null if nothing is
      tags: or {}                     # what is stored, else this value (JSON), or what a rule gives
      kind: always "Managed"          # the same in every answer
      location: done | stored         # a condition: else null
      traffic: done else omitted | or {}
      mirror: stable 2023-04-01 preview 2022-02-01 end 2024-07 | stored   # by api-version: no key
      properties: in endpoint-properties   # an object of its own shape, whether it is stored or not
      services: each job-service      # every value of a map, in one shape
      identity: batch_identity        # a function with `@computed`
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

from mlctl import source
from mlctl.dataclasses import dataclass
from mlctl.emulator.requests.call import Call
from mlctl.kinds.address import Address
from mlctl.pointer import Data

OMITTED: Data = object()  # what a rule gives where the key is to be left out
_VERSIONS = ("since", "stable", "preview")  # what conditions by api-version begin with


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

    key: str
    stored: Data
    sent: Data
    occasion: Occasion


Rule: TypeAlias = Callable[[ResponseField], Data]
Shape: TypeAlias = Mapping[str, Rule]
Condition: TypeAlias = Callable[[ResponseField], bool]
_RULES: dict[str, Rule] = {
    "stored": lambda field: field.stored,
    "sent": lambda field: field.sent,
    "if_set": lambda field: OMITTED if field.stored is None else field.stored,
    "as_sent": lambda field: None if field.sent is None and _goes_on(field) else field.stored,
    "null": lambda _: None,
    "omitted": lambda _: OMITTED,
    "time": lambda field: dotnet_time(field.stored),
    "state": lambda field: field.occasion.state,
}
_CONDITIONS: dict[str, Condition] = {
    "set": lambda field: field.stored is not None,
    "filled": lambda field: bool(field.stored),
    "created": lambda field: field.occasion.phase is not Phase.CREATING,
    "done": lambda field: field.occasion.phase is Phase.DONE,
}


def _goes_on(field: ResponseField) -> bool:
    return field.occasion.phase is not Phase.DONE


def computed(rule: Rule) -> Rule:
    """Make a function a rule, by its name without the underscore."""
    _RULES[rule.__name__.removeprefix("_")] = rule
    return rule


def condition(holds: Condition) -> Condition:
    """Make a function a condition, by its name without the underscore."""
    _CONDITIONS[holds.__name__.removeprefix("_")] = holds
    return holds


def render(
    shape: Shape, stored: Mapping[str, Data], occasion: Occasion, sent: Data = None
) -> dict[str, Data]:
    """The JSON object of a shape over what is stored; `sent` is the body of the request."""
    sent_keys = sent if isinstance(sent, Mapping) else {}
    answer: dict[str, Data] = {}
    for key, rule in shape.items():
        value = rule(ResponseField(key, stored.get(key), sent_keys.get(key), occasion))
        if value is not OMITTED:
            answer[key] = value
    return answer | {key: value for key, value in stored.items() if key not in shape}


@cache
def _table() -> Mapping[str, Data]:
    table: dict[str, Data] = source.plain(
        Path(__file__).with_name("shapes.yml").read_text(encoding="utf-8")
    )
    return table


@cache
def find(*names: str) -> Shape | None:
    """Return the shape of the first of these names that there is; None if there is none."""
    return next((shape_of(_table()[name]) for name in names if name in _table()), None)


def named(*names: str) -> Shape:
    """Return the shape of the first of these names that there is.

    Raises:
        KeyError: there is none.
    """
    shape = find(*names)
    if shape is None:
        raise KeyError(names)
    return shape


def shape_of(data: Mapping[str, Data]) -> Shape:
    """Read a shape.

    Raises:
        KeyError: there is no rule, condition or shape of a name.
    """
    shape: dict[str, Rule] = {}
    for keys, text in data.items():
        if keys == "like":
            shape |= shape_of(_table()[text])
        else:
            shape |= dict.fromkeys(keys.split(", "), _rule(text))
    return shape


def _rule(text: Data) -> Rule:
    """Read a rule: an object, a name of one, a condition with one, or one with an argument."""
    if isinstance(text, Mapping):
        return section(shape_of(text))
    name = text or "null"
    if name in _RULES:
        return _RULES[name]
    if name in _table():
        return _rule(_table()[name])
    first, is_condition, rest = name.partition(" | ")
    return _conditional(first, _rule(rest)) if is_condition else _with_argument(name)


def _with_argument(text: str) -> Rule:
    word, _, argument = text.partition(" ")
    match word:
        case "in":
            return section(shape_of(_table()[argument]))
        case "each":
            return _each(shape_of(_table()[argument]))
        case "or":
            default = _RULES.get(argument) or _with_argument(f"always {argument}")
            return lambda field: default(field) if field.stored is None else field.stored
        case "always":
            value = json.loads(argument)
            return lambda _: value
        case _:
            raise KeyError(text)


def _each(shape: Shape) -> Rule:
    return lambda field: {
        name: render(shape, value, field.occasion) for name, value in (field.stored or {}).items()
    }


def _conditional(text: str, rule: Rule) -> Rule:
    """Read a condition, and what holds else: `done else omitted`."""
    name, _, other = text.partition(" else ")
    by_version = name.partition(" ")[0] in _VERSIONS
    holds = _of_versions(name) if by_version else _CONDITIONS[name]
    otherwise = _rule(other or ("omitted" if by_version else "null"))
    return lambda field: (rule if holds(field) else otherwise)(field)


def _of_versions(text: str) -> Condition:
    """Stable api-versions from one on, and previews from one on and before another.

    Source: the models of 2022-02-01-preview to 2025-01-01-preview in azure-ai-ml 1.28.1.
    """
    words = text.split()
    bounds = dict(zip(words[::2], words[1::2], strict=True))
    every = bounds.get("since", "never")
    stable, preview = bounds.get("stable", every), bounds.get("preview", every)

    def holds(field: ResponseField) -> bool:
        version = field.occasion.api_version
        if "preview" not in version:
            return version >= stable
        return preview <= version < bounds.get("end", "never")

    return holds


def section(shape: Shape) -> Rule:
    """An object of its own shape, whether anything of it is stored or not.

    What somebody has sent in place of an object is shown as it is.
    """

    def value(field: ResponseField) -> Data:
        if field.stored and not isinstance(field.stored, Mapping):
            return field.stored
        return render(shape, field.stored or {}, field.occasion, field.sent)

    return value


def dotnet_time(text: Data) -> Data:
    """ARM's `2026-01-01T00:01:00.500Z` as .NET writes it: `2026-01-01T00:01:00.5+00:00`."""
    if not isinstance(text, str) or not text.endswith("Z"):
        return text
    seconds, _, fraction = text[:-1].partition(".")
    digits = fraction.rstrip("0")
    return f"{seconds}{'.' if digits else ''}{digits}+00:00"
