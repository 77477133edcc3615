"""The words of a command line as az reads them, to words that the parser knows. Pure.

az takes the beginning of a long flag where only one flag begins so, several values after one flag,
a switch with its value or without, and `@file` for the content of a file.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from mlctl.cli.tree import COMPLETION, HELP, Node, Option, Takes
from mlctl.schema.words import nearest

_SEPARATOR = "\x1f"  # ASCII's unit separator: in no argument that a person types
_TRUTHS = ("true", "false", "yes", "no", "on", "off", "1", "0", "t", "f", "y", "n")
_NUMBER = re.compile(r"-\d+|-\d*\.\d+")


class UsageError(Exception):
    """What was typed makes no sense; the message says why, and what is near."""


@dataclass(frozen=True, slots=True)
class Line:
    """A command line that was read: words for the parser, and the node that they name."""

    words: list[str]
    node: Node
    seen: frozenset[Option]

    @property
    def helps(self) -> bool:
        """Whether help is asked for."""
        return HELP in self.seen

    @property
    def incomplete(self) -> bool:
        """Whether a group was named, and none of its commands, nor anything else to do."""
        return bool(self.node.nodes) and not self.seen & {HELP, *COMPLETION}


def read(
    words: Sequence[str], root: Node, absent: Mapping[str, str] = MappingProxyType({})
) -> Line:
    """The words with every flag by its full name, and each with one value.

    Several values become one word that `occurrence` takes apart. `absent` says why a flag that az
    has is not here.

    Raises:
        UsageError: a command or flag is unknown, a flag's beginning fits several, a value or a
            required flag is missing.
    """
    reader = _Reader(deque(words), root, absent)
    return Line(list(reader.read()), reader.node, frozenset(reader.seen))


def occurrence(word: str) -> tuple[int, list[str]]:
    """The values of one flag of several values, and where on the line it stood."""
    place, separator, values = word.partition(_SEPARATOR)
    return (int(place), values.split(_SEPARATOR)) if separator else (0, [word])


def with_files(words: Sequence[str], read: Callable[[str], str]) -> list[str]:
    """The words with the content of FILE for each `@FILE` that `read` can read.

    Origin: azure-cli-core, `_expand_file_prefixed_files`.
    """
    return [_content(word, read) for word in words]


def _content(word: str, read: Callable[[str], str]) -> str:
    flag, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
    if not value.startswith("@") or value == "@":
        return word
    try:
        return flag + equals + read(value[1:]).rstrip("\r\n")
    except (OSError, UnicodeDecodeError):
        return word


class _Reader:
    """Goes through the words once, from the root of the commands to a leaf."""

    def __init__(self, words: deque[str], root: Node, absent: Mapping[str, str]) -> None:
        self._words = words
        self.node = root
        self._absent = absent
        self.seen: set[Option] = set()
        self._place = 0

    def read(self) -> Iterator[str]:
        while self._words:
            word = self._words.popleft()
            self._place += 1
            if word == "--":
                yield word
                yield from self._words
                break
            if word.startswith("-") and word != "-":
                yield from self._flag(word)
            elif self.node.nodes:
                self.node = self._below(word)
                yield word
            else:
                yield word
        self._demand_required()

    def _below(self, word: str) -> Node:
        found = self.node.nodes.get(word)
        if found is None:
            near = nearest(word, self.node.nodes)
            known = (
                f"Did you mean `{near}`?" if near else f"There is: {', '.join(self.node.nodes)}."
            )
            raise self._error(f"'{word}' is misspelled or not recognized by the system.\n{known}")
        return found

    def _flag(self, word: str) -> Iterator[str]:
        name, given = _split(word)
        option = self._find(name)
        self.seen.add(option)
        match option.takes:
            case Takes.NOTHING:
                if given is not None and word.startswith("--"):
                    raise self._error(
                        f"argument {option.long}: ignored explicit argument '{given}'"
                    )
                if given is not None:
                    self._words.appendleft(f"-{given}")  # `-yn x` is `-y -n x`
                yield name if name in option.names else option.long
            case Takes.ONE:
                yield from (option.long, self._value(option) if given is None else given)
            case Takes.TRUTH:
                yield from (option.long, self._truth() if given is None else given)
            case Takes.MANY:
                values = list(self._values()) if given is None else [given]
                if not values:
                    raise self._error(
                        f"argument {'/'.join(option.names)}: expected at least one argument"
                    )
                yield from (option.long, _SEPARATOR.join([str(self._place), *values]))

    def _find(self, name: str) -> Option:
        """The option of that name, or the only one that a long name begins."""
        options = self.node.options
        exact = next((one for one in options if name in one.names), None)
        if exact is not None:
            return exact
        begun = {
            full: one
            for one in options
            for full in one.names
            if name.startswith("--") and len(name) > 2 and full.startswith(name)  # noqa: PLR2004
        }
        if len(set(begun.values())) == 1:
            return next(iter(begun.values()))
        if begun:
            raise self._error(f"ambiguous option: {name} could match {', '.join(begun)}")
        raise self._error(self._unknown(name))

    def _unknown(self, name: str) -> str:
        if name in self._absent:
            return f"{name} is not here: {self._absent[name]}"
        near = nearest(
            name, (full for one in self.node.options for full in one.names if full[1] == name[1:2])
        )
        return f"unrecognized arguments: {name}" + (f"\nDid you mean {near}?" if near else "")

    def _value(self, option: Option) -> str:
        if not self._words or _is_flag(self._words[0]):
            raise self._error(f"argument {'/'.join(option.names)}: expected one argument")
        return self._words.popleft()

    def _values(self) -> Iterator[str]:
        while self._words and not _is_flag(self._words[0]):
            yield self._words.popleft()

    def _truth(self) -> str:
        follows = bool(self._words) and self._words[0].casefold() in _TRUTHS
        return self._words.popleft() if follows else "true"

    def _demand_required(self) -> None:
        missing = [one for one in self.node.options if one.required and one not in self.seen]
        if missing and HELP not in self.seen:
            names = ", ".join("/".join(one.names) for one in missing)
            raise self._error(f"the following arguments are required: {names}")

    def _error(self, message: str) -> UsageError:
        return UsageError(f"{message}\nTry: {' '.join(('mlctl', *self.node.path))} --help")


def _split(word: str) -> tuple[str, str | None]:
    """`--name=x` and `-nx` to the flag and its value; None where the value is a word of its own."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return name, value if equals else None
    return word[:2], word[2:].removeprefix("=") or None


def _is_flag(word: str) -> bool:
    """Whether a word is a flag, by argparse's rules: `-1` and `- x` are values."""
    return (
        word.startswith("-") and len(word) > 1 and " " not in word and not _NUMBER.fullmatch(word)
    )
