"""Format a YAML text: the same data and comments, in one canonical layout.

The text is edited by the positions of its values: what is written stays as it is (quotes, numbers,
block scalars, flow collections), and only what is between values changes. Indentation is two
spaces, also for lists; one space follows `:` and `-`, two precede a comment; there is at most one
empty line in a row; keys have a given order. A comment on its own line belongs to what is below it,
unless it is indented as deeply as the block above.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from yaml.events import ScalarEvent

from mlctl.dataclasses import dataclass, field
from mlctl.pointer import Pointer
from mlctl.source.compose import AliasNode, CollectionNode, YamlNode, compose, key_values, resolved
from mlctl.source.events import mark
from mlctl.source.gaps import Gaps, OddLayout
from mlctl.source.same import is_same
from mlctl.source.scalar_text import block_scalar, flow, reindent

Order = Callable[[int, Pointer], Sequence[str]]
"""The keys of the mapping at a pointer of a document, in their order; those not in it come last."""

_STEP = 2
_ODD_BREAK = re.compile("[\r\x85\u2028\u2029]")
_BLOCK_STYLES = ("|", ">")


@dataclass(slots=True)
class _Entry:
    """A key or an item with its value: the comments above it, and its lines."""

    name: str
    above: list[str]
    lines: list[str]


def lay_out(text: str, order: Order) -> str:
    """Return the text in canonical layout.

    A document with aliases, or with a repeated key, keeps its order of keys.

    Raises:
        OddLayout: something cannot be moved safely; the message says what, and the line.
        SourceError, yaml.MarkedYAMLError: as `compose`.
    """
    unified = text.removeprefix("\ufeff").replace("\r\n", "\n")
    odd = _ODD_BREAK.search(unified)
    if odd is not None:
        line = unified.count("\n", 0, odd.start())
        raise OddLayout("a line ends with a rare character", line)
    written = _Writer(Gaps(unified), order).stream()
    if not is_same(unified, written):
        raise OddLayout("its data or its comments would change", 0)
    return written


@dataclass(slots=True)
class _Writer:
    gaps: Gaps
    order: Order
    number: int = 0  # of the document
    sorts: bool = True
    names: list[str | int] = field(default_factory=list)  # the path in the document

    def stream(self) -> str:
        """Return all documents formatted."""
        lines: list[str] = []
        for number, part in enumerate(compose(self.gaps.text)):
            self.number = number
            if self.gaps.text.startswith("---", part.begin):
                lines += _spaced(self.gaps.above(part.begin), 0, first=True)
                self.gaps.take("---")
                lines.append(_with_comment("---", self.gaps.inline()))
                if not self.gaps.at_line_end:
                    raise self.gaps.odd("a document begins on the line of its `---`")
            lines += self._document(part.root)
        self.gaps.finish()
        return "".join(f"{line}\n" for line in lines)

    def _document(self, root: YamlNode) -> list[str]:
        node = resolved(root)
        self.sorts = _is_sortable(root)
        if isinstance(node, ScalarEvent) and _start(node) == _end(node):
            return _spaced(self.gaps.tail(0), 0, first=True)
        if isinstance(node, ScalarEvent) or node.event.flow_style:
            above = _spaced(self.gaps.above(_start(node)), 0, first=True)
            return [*above, *self._leaf("", node, 0, 0), *_spaced(self.gaps.tail(0), 0)]
        if node.event.anchor or node.event.tag:
            raise self.gaps.odd("a whole document has an anchor or a tag")
        return _joined(self._entries(node, 0, -1), 0)

    def _entries(self, node: CollectionNode, indent: int, above: int) -> list[_Entry]:
        """Return the entries of a block, and its last comments; its parent is in column `above`."""
        entries, column = (self._pairs if node.is_mapping else self._items)(node, indent)
        if node.is_mapping and self.sorts:
            entries = self._sorted(entries, whole=above < 0)
        column = 0 if above < 0 else max(column, above + 1)
        entries.append(_Entry("", self.gaps.tail(column), []))
        return entries

    def _pairs(self, node: CollectionNode, indent: int) -> tuple[list[_Entry], int]:
        """Return the entries of a mapping, and the old column of its keys."""
        entries, column = [], 0
        for key, value in key_values(node):
            above = self.gaps.above(_start(key))
            if isinstance(key, CollectionNode):
                raise self.gaps.odd("a key is a list or a mapping")
            column = self.gaps.column
            name = self.gaps.take_until(_end(key))
            if "\n" in name:
                raise self.gaps.odd("a key takes several lines")
            self.gaps.take(":")
            self.names.append(key.value if isinstance(key, ScalarEvent) else name)
            colon = " :" if isinstance(key, AliasNode) else ":"  # which could be part of the name
            lines = self._value(f"{' ' * indent}{name}{colon}", value, indent, column)
            entries.append(_Entry(str(self.names.pop()), above, lines))
        return entries, column

    def _items(self, node: CollectionNode, indent: int) -> tuple[list[_Entry], int]:
        """Return the entries of a list, and the old column of its dashes."""
        entries, column = [], 0
        for number, item in enumerate(node.items):
            above = self.gaps.above(None)
            column = self.gaps.column
            self.gaps.take("-")
            self.names.append(number)
            head = f"{' ' * indent}-"
            if _is_plain_block(item) and not (comment := self.gaps.inline()):
                inner = self._entries(_block(item), indent + _STEP, column)
                above += inner[0].above
                inner[0].above = []
                lines = _joined(inner, indent + _STEP)
                lines[0] = f"{head} {lines[0].lstrip(' ')}"
            elif _is_plain_block(item):
                below = _joined(self._entries(_block(item), indent + _STEP, column), indent + _STEP)
                lines = [_with_comment(head, comment), *below]
            else:
                lines = self._value(head, item, indent, column)
            self.names.pop()
            entries.append(_Entry("", above, lines))
        return entries, column

    def _value(self, head: str, node: YamlNode, indent: int, column: int) -> list[str]:
        """Return the lines of a value after its key or dash, whose old column is `column`."""
        if not _is_block(node):
            return self._leaf(head, node, indent, column)
        block = _block(node)
        if block.event.anchor or block.event.tag:
            head += f" {self.gaps.properties(_start(block))}"
        head = _with_comment(head, self.gaps.inline())
        below = indent + _STEP
        return [head, *_joined(self._entries(block, below, column), below)]

    def _leaf(self, head: str, node: YamlNode, indent: int, column: int) -> list[str]:
        """Return the lines of a value that stays as written: scalar, alias, flow collection."""
        start, end = _start(node), _end(node)
        below = indent + _STEP
        if start == end:
            lines = [_with_comment(head, self.gaps.inline())]
            return [*lines, *_spaced(self.gaps.tail(column + 1), below)]
        comment = self.gaps.inline()
        between = _spaced(self.gaps.above(start), below)
        shift = indent - column
        first = _with_comment(head, comment)
        if comment or any(between):
            begun, shift = [first, *between], below - self.gaps.column
            first = " " * (below - 1)
        else:
            begun = []
        if isinstance(node, ScalarEvent) and node.style in _BLOCK_STYLES:
            written = block_scalar(self.gaps, end, column, indent)
        elif isinstance(node, CollectionNode):
            written = flow(self.gaps.take_until(end), shift)
        else:
            written = reindent(self.gaps.take_until(end), below)
        lines = [f"{first} {written[0]}" if first else written[0], *written[1:]]
        if not self.gaps.at_line_end:
            lines[-1] = _with_comment(lines[-1], self.gaps.inline())
        return [*begun, *lines]

    def _sorted(self, entries: list[_Entry], *, whole: bool) -> list[_Entry]:
        """Sort the entries by key; a document's first keys stay first."""
        order = {name: rank for rank, name in enumerate(self.order(self.number, (*self.names,)))}
        if not order or not entries:
            return entries
        head = _header(entries[0].above) if whole else []
        entries[0].above = entries[0].above[len(head) :]
        entries.sort(key=lambda entry: order.get(entry.name, len(order)))
        entries[0].above = head + entries[0].above
        return entries


def _header(above: list[str]) -> list[str]:
    """Return the comments of the document, not of its first key: those above a blank line."""
    if "" not in above:
        return above
    return above[: len(above) - above[::-1].index("")]


def _joined(entries: Sequence[_Entry], indent: int) -> list[str]:
    lines: list[str] = []
    for entry in entries:
        lines += _spaced(entry.above, indent, first=not lines)
        lines += entry.lines
    return lines


def _spaced(above: Sequence[str], indent: int, *, first: bool = False) -> list[str]:
    """Limit empty lines to one in a row, and none at the beginning."""
    lines: list[str] = []
    for line in above:
        if line:
            lines.append(" " * indent + line)
        elif (lines and lines[-1]) or not (lines or first):
            lines.append("")
    return lines


def _with_comment(line: str, comment: str) -> str:
    return f"{line}  {comment}" if comment else line


def _is_sortable(root: YamlNode) -> bool:
    """Whether keys can be moved: there is no alias, and no repeated key."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, AliasNode):
            return False
        if isinstance(node, CollectionNode):
            waiting += node.items
            if node.is_mapping:
                keys = [resolved(key) for key, _ in key_values(node)]
                names = [key.value for key in keys if isinstance(key, ScalarEvent)]
                if len(set(names)) < len(names):
                    return False
    return True


def _is_block(node: YamlNode) -> bool:
    return isinstance(node, CollectionNode) and not node.event.flow_style


def _is_plain_block(node: YamlNode) -> bool:
    """Whether it is a block that can begin on the line of its dash."""
    return _is_block(node) and not (_block(node).event.anchor or _block(node).event.tag)


def _block(node: YamlNode) -> CollectionNode:
    assert isinstance(node, CollectionNode)
    return node


def _start(node: YamlNode) -> int:
    return mark(node if isinstance(node, ScalarEvent) else node.event).index


def _end(node: YamlNode) -> int:
    if isinstance(node, CollectionNode):
        assert node.end is not None
        return node.end.index
    return mark(node if isinstance(node, ScalarEvent) else node.event, end=True).index
