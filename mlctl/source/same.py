"""Compare two YAML texts: values as written, in any order of keys, and comments."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator

from yaml.events import ScalarEvent

from mlctl.source.compose import AliasNode, CollectionNode, YamlNode, compose, key_values
from mlctl.source.events import mark

_COMMENT = re.compile(r"(?<!\S)#.*")
_BLOCK_STYLES = ("|", ">")


def is_same(one: str, rewritten: str) -> bool:
    """Whether two texts have the same documents and the same comments.

    Raises:
        SourceError, yaml.MarkedYAMLError: one of them cannot be read.
    """
    first, second = ([part.root for part in compose(text)] for text in (one, rewritten))
    return [*map(_content, first)] == [*map(_content, second)] and _comments(
        one, first
    ) == _comments(rewritten, second)


def _content(node: YamlNode) -> Hashable:
    """Return everything in a node except for the order of keys."""
    if isinstance(node, AliasNode):
        return "*", node.event.anchor
    if isinstance(node, ScalarEvent):
        return node.anchor, node.tag, node.implicit, node.value
    about = (node.event.anchor, node.event.tag)
    if node.is_mapping:
        pairs = [(_content(key), _content(value)) for key, value in key_values(node)]
        return *about, frozenset(Counter(pairs).items())
    return *about, *map(_content, node.items)


def _comments(text: str, roots: list[YamlNode]) -> Counter[str]:
    """Count the comments of a text: `#` outside of its scalars."""
    outside, at = [], 0
    for root in roots:
        for start, end in _scalars(root, text):
            outside.append(text[at:start])
            at = max(end, at)
    outside.append(text[at:])
    return Counter(comment.rstrip() for comment in _COMMENT.findall(" x ".join(outside)))


def _scalars(node: YamlNode, text: str) -> Iterator[tuple[int, int]]:
    """Yield the place of each scalar's text, for a block scalar below its first line."""
    if isinstance(node, CollectionNode):
        for item in node.items:
            yield from _scalars(item, text)
    elif isinstance(node, ScalarEvent):
        start, end = mark(node).index, mark(node, end=True).index
        if node.style in _BLOCK_STYLES:
            start = min(end, text.find("\n", start) % (len(text) + 1))
            end -= len(text[start:end]) - len(text[start:end].rstrip(" "))
        yield start, end
