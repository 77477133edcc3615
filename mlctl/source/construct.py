"""Construct plain data from nodes, as PyYAML's safe loader does, and report oddities."""

from __future__ import annotations

import json
import re
from typing import TypeAlias

from yaml.events import ScalarEvent

from mlctl.dataclasses import dataclass, field
from mlctl.diagnostics import Diagnostic, Label, Report, Rule, SourceText, Span
from mlctl.pointer import Data, Pointer
from mlctl.source import rules, scalars
from mlctl.source.compose import AliasNode, CollectionNode, YamlNode, key_values, resolved
from mlctl.source.events import Mark, mark, position_in

_TEXT_KEYS = (scalars.STR, scalars.TIMESTAMP, scalars.VALUE, scalars.MERGE)
_FITTING = ("!!str", "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SHORT = 40  # characters of the user's text in a hint

Entry: TypeAlias = tuple[ScalarEvent, YamlNode]  # a key and its value


@dataclass(frozen=True, slots=True)
class Builder:
    """Constructs the values of one document of `source`, which begins at `line`."""

    source: SourceText
    report: Report
    line: int = 0
    _known: dict[int, dict[str, Entry]] = field(default_factory=dict)  # of `find`, by mapping

    def value(self, node: YamlNode) -> Data:
        """Return the plain value of `node`; each alias becomes a copy of its target."""
        node = resolved(node)
        if isinstance(node, ScalarEvent):
            return self._scalar(node)
        self._check_tag(node)
        if node.is_mapping:
            return {key: self.value(entry[1]) for key, entry in self.entries(node).items()}
        return [self.value(item) for item in node.items]

    def entries(self, branch: CollectionNode) -> dict[str, Entry]:
        """Return the entries of a mapping, merged ones first; the last of a repeated key wins."""
        merged: dict[str, Entry] = {}
        own: dict[str, Entry] = {}
        merge: str | None = None
        for key_node, value_node in key_values(branch):
            key = resolved(key_node)
            if isinstance(key, CollectionNode):
                template = key.is_mapping  # `{{ name }}` is a mapping in a mapping
                hint = "first replace `{{ ... }}` by its value" if template else None
                self._report(rules.BAD_KEY, "a list or a mapping cannot be a key", key_node, hint)
                continue
            tag = scalars.tag_of(key)
            name = self._key(tag, key)
            if name in own:
                self._repeated(name, own[name][0], key)
            own[name] = (key, value_node)
            if tag == scalars.MERGE:
                merged |= self._merged(value_node)
                merge = name
        if merge is not None:
            del own[merge]
        return merged | own if merged else own

    def find(self, root: YamlNode, at: Pointer) -> tuple[ScalarEvent | None, YamlNode] | None:
        """Return the key (list items have none) and the node at `at`; None if it does not exist."""
        key: ScalarEvent | None = None
        node = root
        for step in at:
            branch = resolved(node)
            if isinstance(branch, ScalarEvent):
                return None
            if branch.is_mapping:
                if id(branch) not in self._known:  # the root keeps it alive
                    self._known[id(branch)] = self.entries(branch)
                entry = self._known[id(branch)].get(str(step))
                if entry is None:
                    return None
                key, node = entry
            elif isinstance(step, int) and step < len(branch.items):
                key, node = None, branch.items[step]
            else:
                return None
        return key, node

    def span(self, node: YamlNode) -> Span:
        """Return the span of `node`, without trailing white space and comments."""
        event = node if isinstance(node, ScalarEvent) else node.event
        return self.between(mark(event), _end(node))

    def between(self, start: Mark, end: Mark) -> Span:
        """Return the span between two marks of this part, without trailing white space."""
        lines = self.source.lines
        first, last = position_in(start, lines, self.line), position_in(end, lines, self.line)
        line, column = last.line, last.column
        while (
            line > first.line and not lines[line][:column].strip()
        ):  # block scalars end further on
            line -= 1
            column = len(lines[line].rstrip())
        return Span(self.source, first.line, first.column, line, column)

    def _scalar(self, event: ScalarEvent) -> Data:
        tag = scalars.tag_of(event)
        text = self._text(event)
        if tag == scalars.STR and text[:1] not in "+-.0123456789":
            return text
        try:
            value = scalars.convert(tag, text)
        except ValueError as error:
            self._report(
                rules.BAD_VALUE, str(error), event, f"if you mean the text, {_quote(text)}"
            )
            return text
        except LookupError:
            self._unknown(tag, event)
            return text
        if event.implicit[0]:
            self._trap(event, value)
        return value

    def _text(self, event: ScalarEvent) -> str:
        """Return the text of a scalar, with escaped surrogate pairs combined."""
        text: str = event.value
        if text.isascii() or not _SURROGATE.search(text):
            return text
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if "\ufffd" in whole and "\ufffd" not in text:
            message = "half of a surrogate pair is not a character"
            self._report(rules.BAD_VALUE, message, event, "write the character itself")
        return whole

    def _key(self, tag: str, key: ScalarEvent) -> str:
        text = self._text(key)
        if tag in _TEXT_KEYS:
            return text
        if not tag.startswith(scalars.CORE):
            self._unknown(tag, key)
        elif text:
            kind = tag.removeprefix(scalars.CORE)
            self._report(
                rules.BAD_KEY, f"the key `{text}` is read as {kind}, not as text", key, _quote(text)
            )
        else:
            self._report(rules.BAD_KEY, "a key is missing before this `:`", key)
        return text

    def _merged(self, node: YamlNode) -> dict[str, Entry]:
        target = resolved(node)
        if isinstance(target, CollectionNode) and target.is_mapping:
            return self.entries(target)
        merged: dict[str, Entry] = {}
        if isinstance(target, CollectionNode):
            for item in reversed(target.items):  # the first mapping that has a key wins
                branch = resolved(item)
                if isinstance(branch, CollectionNode) and branch.is_mapping:
                    merged |= self.entries(branch)
                else:
                    self._report(rules.BAD_MERGE_KEY, "only mappings can be merged", item)
            return merged
        hint = 'name the anchor of a mapping, as in `<<: *base`, or quote the key: "<<"'
        self._report(rules.BAD_MERGE_KEY, "`<<` has no mapping to merge", node, hint)
        return merged

    def _check_tag(self, branch: CollectionNode) -> None:
        tag = branch.event.tag
        if tag not in (None, "!", scalars.MAP if branch.is_mapping else scalars.SEQ):
            self._unknown(tag, branch)

    def _unknown(self, tag: str, node: YamlNode) -> None:
        short = "!!" + tag.removeprefix(scalars.CORE) if tag.startswith(scalars.CORE) else tag
        message = (
            f"the tag `{short}` does not fit here"
            if short in _FITTING
            else f"unknown tag `{short}`"
        )
        self._report(rules.UNKNOWN_TAG, message, node, "remove the tag")

    def _trap(self, event: ScalarEvent, value: Data) -> None:
        instead = scalars.trap(event.value, value)
        if instead is None:
            return
        text = event.value
        read = "text" if isinstance(value, str) else f"`{json.dumps(value)}`"
        hint = f'write `{instead}`, or `"{text}"` if you mean the text'
        self._report(rules.YAML_1_1_VALUE, f"`{text}` is read as {read}", event, hint)

    def _repeated(self, name: str, first: ScalarEvent, second: ScalarEvent) -> None:
        earlier = Label(self.span(first), "has no effect")
        message = f"the key `{name}` is repeated: az and mlctl use the last one"
        self._report(rules.REPEATED_KEY, message, second, "remove one of them", earlier)

    def _report(
        self, rule: Rule, message: str, node: YamlNode, hint: str | None = None, *related: Label
    ) -> None:
        self.report.add(Diagnostic(rule, message, Label(self.span(node)), hint, related))


def _end(node: YamlNode) -> Mark:
    """Return where `node` ends; a block collection ends with its last item."""
    while isinstance(node, CollectionNode):
        if node.event.flow_style or not node.items:
            assert node.end is not None  # it was composed to its end
            return node.end
        node = node.items[-1]
    return mark(node.event if isinstance(node, AliasNode) else node, end=True)


def _quote(text: str) -> str:
    return f'put it in quotes: `"{text}"`' if len(text) <= _SHORT else "put it in quotes"
