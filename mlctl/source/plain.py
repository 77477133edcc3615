"""Read most texts in one pass: mappings whose values are unambiguous.

Anchors, tags, repeated keys, traps of YAML 1.1 and errors are left to `compose` and `construct`,
which report them. Both read the same values (a property test checks this).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from yaml import MarkedYAMLError
from yaml.events import (
    CollectionStartEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from mlctl.dataclasses import dataclass
from mlctl.pointer import MAX_DEPTH, Data
from mlctl.source import events, scalars

_CACHED = 4096  # scalars whose values are cached: keys and words occur repeatedly


@dataclass(frozen=True, slots=True)
class PlainPart:
    """One document of a stream, and its part of the text, in whole lines."""

    data: dict[str, Data]
    line: int
    begin: int
    end: int


class _NotPlain(Exception):
    """The text has something that is not read here."""


def read_plain(text: str) -> list[PlainPart] | None:
    """Read the documents of a text; None if it has something that is not read here."""
    if events.spells_surrogates(text):
        return None
    next_event = events.parser(text).get_event
    parts: list[PlainPart] = []
    values = 0
    try:
        next_event()  # the start of the stream
        while type(start := next_event()) is DocumentStartEvent:
            data, end, count = _document(next_event)
            begin = events.mark(start)
            end_index = events.mark(end, end=True).index
            parts.append(PlainPart(data, begin.line, begin.index - begin.column, end_index))
            values += count
            if values > events.MAX_FILE_VALUES or len(parts) > events.MAX_PARTS:
                return None
    except (_NotPlain, MarkedYAMLError):
        return None
    return parts


def _document(next_event: Callable[[], Any]) -> tuple[dict[str, Data], Event, int]:
    """Return the document that has just begun, the event at its end, and its size."""
    root: list[Data] = []
    holder: Any = root
    key: str | None = None  # the key of the next value in a mapping
    above: list[tuple[Any, str | None]] = []
    for count in range(events.MAX_VALUES):
        event = next_event()
        kind = type(event)
        if kind is ScalarEvent:
            value = _scalar(event)
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            value = _collection(event, len(above))
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            holder, key = above.pop()
            continue
        elif kind is DocumentEndEvent and type(root[0]) is dict:
            return root[0], event, count
        else:
            raise _NotPlain
        if type(holder) is list:
            holder.append(value)
        elif key is not None:
            holder[key] = value
            key = None
        elif type(value) is str and value not in holder:
            key = value
            continue
        else:
            raise _NotPlain
        if kind is not ScalarEvent:
            above.append((holder, key))
            holder = value
    raise _NotPlain


def _scalar(event: ScalarEvent) -> Data:
    if event.tag is not None or event.anchor is not None:
        raise _NotPlain
    return _value(event.value) if event.implicit[0] else event.value


def _collection(event: CollectionStartEvent, depth: int) -> Data:
    if event.tag is not None or event.anchor is not None or depth >= MAX_DEPTH:
        raise _NotPlain
    return {} if type(event) is MappingStartEvent else []


@lru_cache(_CACHED)
def _value(text: str) -> Data:
    """Return the value of a plain scalar; _NotPlain if it has none, or not the apparent one."""
    tag = scalars.tag_of_plain(text)
    try:
        value = scalars.convert(tag, text)
    except (ValueError, LookupError):
        raise _NotPlain from None
    if scalars.trap(text, value) is not None:
        raise _NotPlain
    return value
