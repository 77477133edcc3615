"""Compose YAML text into trees of nodes with positions; without recursion, within limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias, cast

from yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from mlctl.dataclasses import dataclass, field
from mlctl.pointer import MAX_DEPTH
from mlctl.source.events import (
    MAX_CHARACTERS,
    MAX_FILE_VALUES,
    MAX_PARTS,
    MAX_VALUES,
    Mark,
    MarkedRange,
    SourceError,
    mark,
    parser,
)
from mlctl.source.rules import ALIAS_LOOP, LESS, SYNTAX, TOO_BIG


@dataclass(slots=True)
class CollectionNode:
    """A mapping (its items are key, value, key, value, ...) or a sequence."""

    event: CollectionStartEvent
    items: list[YamlNode] = field(default_factory=list)
    end: Mark | None = None  # None while it is open
    values: int = 0  # how many values it has, including itself
    characters: int = 0  # of its keys and values
    height: int = 1

    @property
    def is_mapping(self) -> bool:
        """Whether it is a mapping; otherwise it is a sequence."""
        return type(self.event) is MappingStartEvent


@dataclass(slots=True)
class AliasNode:
    """`*name`, and the node that it refers to."""

    event: AliasEvent
    target: ScalarEvent | CollectionNode


YamlNode: TypeAlias = ScalarEvent | CollectionNode | AliasNode


@dataclass(frozen=True, slots=True)
class StreamPart:
    """One document of a stream: its root, and its part of the text, in whole lines."""

    root: YamlNode
    line: int
    begin: int
    end: int


def compose(text: str) -> Iterator[StreamPart]:
    """Yield the documents of `text`, including empty ones.

    Raises:
        SourceError: the text exceeds a limit, has a loop, or names no anchor.
        yaml.MarkedYAMLError: it is not YAML.
    """
    next_event = parser(text).get_event
    parts = values = 0
    while event := next_event():
        if isinstance(event, DocumentStartEvent):
            composer = _Composer(next_event)
            start = mark(event)
            root, end = composer.document()
            yield StreamPart(root, start.line, start.index - start.column, end.index)
            parts += 1
            values += composer.values
            if values > MAX_FILE_VALUES or parts > MAX_PARTS:
                raise _too_big(event, "the file is unreasonably large")


def key_values(branch: CollectionNode) -> Iterator[tuple[YamlNode, YamlNode]]:
    """Return the keys and values of a mapping, as written."""
    items = iter(branch.items)
    return zip(items, items, strict=True)


def resolved(node: YamlNode) -> ScalarEvent | CollectionNode:
    """Return the node itself, or the target of an alias."""
    return node.target if isinstance(node, AliasNode) else node


@dataclass(slots=True)
class _Composer:
    next_event: Callable[[], Event | None]
    anchors: dict[str, ScalarEvent | CollectionNode] = field(default_factory=dict)
    open: list[CollectionNode] = field(default_factory=list)
    values: int = 0
    characters: int = 0

    def document(self) -> tuple[YamlNode, Mark]:
        """Return the root of the document that has just begun, and the document's end."""
        root: YamlNode | None = None
        while True:
            event = cast("Event", self.next_event())  # a document ends before the stream does
            if isinstance(event, MappingEndEvent | SequenceEndEvent):
                self._close(mark(event, end=True))
                continue
            node = self._node(event)
            if node is None:
                return cast("YamlNode", root), mark(
                    event, end=True
                )  # the grammar guarantees a root
            if self.open:
                self.open[-1].items.append(node)
            else:
                root = root or node
            if type(node) is CollectionNode:
                self._open(node)

    def _node(self, event: Event) -> YamlNode | None:
        """Return the node that begins with `event`; None at the end of the document."""
        self.values += 1
        if self.values > MAX_VALUES:
            raise _too_big(event, f"the document has more than {MAX_VALUES} values")
        node: ScalarEvent | CollectionNode
        if isinstance(event, ScalarEvent):
            node = event
            self.characters += len(event.value)
        elif isinstance(event, MappingStartEvent | SequenceStartEvent):
            node = CollectionNode(event, values=1 - self.values, characters=-self.characters)
        elif isinstance(event, AliasEvent):
            return self._alias(event)
        else:
            return None
        if event.anchor is not None:
            self._name(event.anchor, node)
        return node

    def _open(self, branch: CollectionNode) -> None:
        self.open.append(branch)
        if len(self.open) > MAX_DEPTH:
            raise _too_big(
                branch.event, f"the document is nested more than {MAX_DEPTH} levels deep"
            )

    def _close(self, end: Mark) -> None:
        branch = self.open.pop()
        branch.end = end
        branch.values += self.values
        branch.characters += self.characters
        self._raise_to(branch.height)

    def _raise_to(self, height: int) -> None:
        if self.open and self.open[-1].height <= height:
            self.open[-1].height = height + 1

    def _name(self, anchor: str, node: ScalarEvent | CollectionNode) -> None:
        earlier = self.anchors.get(anchor)
        if earlier is not None:
            event = node.event if isinstance(node, CollectionNode) else node
            raise SourceError(
                SYNTAX,
                f"the anchor `&{anchor}` is defined twice",
                _note(event),
                "rename one of them",
                (
                    _note(
                        earlier.event if isinstance(earlier, CollectionNode) else earlier,
                        "first here",
                    ),
                ),
            )
        self.anchors[anchor] = node

    def _alias(self, event: AliasEvent) -> AliasNode:
        name = event.anchor or ""
        target = self.anchors.get(name)
        if target is None:
            hint = f"define it above as `&{name}`, or quote the value if it only begins with `*`"
            raise SourceError(
                SYNTAX, f"no anchor `&{name}` precedes this alias", _note(event), hint
            )
        if isinstance(target, CollectionNode):
            if target.end is None:
                message = f"the alias `*{name}` is inside the value that it repeats"
                hint = "write the value out, or move the anchor"
                around = (_note(target.event, f"`&{name}` begins here"),)
                raise SourceError(ALIAS_LOOP, message, _note(event), hint, around)
            self.values += target.values - 1
            if self.values > MAX_VALUES:
                much = f"aliases expand this document to more than {MAX_VALUES} values"
                raise _too_big(event, much)
            if len(self.open) + target.height > MAX_DEPTH:
                deep = f"the aliases nest this document more than {MAX_DEPTH} levels deep"
                raise _too_big(event, deep)
            self._raise_to(target.height)
        self.characters += (
            target.characters if isinstance(target, CollectionNode) else len(target.value)
        )
        if self.characters > MAX_CHARACTERS:
            raise _too_big(
                event, f"aliases expand this document to more than {MAX_CHARACTERS} characters"
            )
        return AliasNode(event, target)


def _too_big(event: Event, message: str) -> SourceError:
    return SourceError(TOO_BIG, message, _note(event), LESS)


def _note(event: Event, text: str = "") -> MarkedRange:
    return MarkedRange(mark(event), mark(event, end=True), text)
