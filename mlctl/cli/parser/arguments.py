"""The words of a command line, read as az reads them. Pure.

az takes the beginning of a long flag where only one flag begins so, several values after one flag,
a switch with its value or without, and `@file` for the content of a file.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from mlctl.cli.parser.tree import BEFORE, COMPLETION, HELP, Node, Option, Takes
from mlctl.schema.text import nearest

_TRUTHS = ("true", "false", "yes", "no", "on", "off", "1", "0", "t", "f", "y", "n")
_NUMBER = re.compile(r"-\d+|-\d*\.\d+")


class UsageError(Exception):
    """What was typed makes no sense; the message says why, and what is near."""


@dataclass(frozen=True, slots=True)
class Flagged:
    """A flag where it stands on a line, and the values after it."""

    option: Option
    words: tuple[str, ...]
    place: int


@dataclass(frozen=True, slots=True)
class Line:
    """A command line that was read: the command or group that it names, and what it says to it."""

    node: Node
    flags: tuple[Flagged, ...]
    positionals: tuple[str, ...]

    @property
    def helps(self) -> bool:
        """Whether help is asked for."""
        return any(one.option is HELP for one in self.flags)

    @property
    def completes(self) -> bool:
        """Whether it is about completion by the shell."""
        return any(one.option in COMPLETION for one in self.flags)

    def error(self, message: str) -> UsageError:
        """What is said of a value that cannot be one."""
        return _error(message, self.node)


def read(
    words: Sequence[str], root: Node, absent: Mapping[str, str] = MappingProxyType({})
) -> Line:
    """The line that `words` are. `absent` says why a flag that az has is not here.

    Raises:
        UsageError: a command or flag is unknown, a flag's beginning fits several, a value or a
            required flag is missing.
    """
    reader = _Reader(deque(words), root, absent)
    reader.read()
    return Line(reader.node, tuple(reader.flags), tuple(reader.positionals))


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
        self.node = root
        self.flags: list[Flagged] = []
        self.positionals: list[str] = []
        self._words = words
        self._absent = absent
        self._before = (*root.options, *BEFORE)

    def read(self) -> None:
        while self._words:
            word = self._words.popleft()
            if word == "--":
                self.positionals += self._words
                break
            if word.startswith("-") and word != "-":
                self._flag(word)
            elif self.node.nodes:
                self.node = self._below(word)
            else:
                self.positionals.append(word)
        if not self.node.nodes:
            self.flags = [self._own(one) for one in self.flags]
        if not any(one.option is HELP for one in self.flags):
            self._demand()

    def _own(self, flag: Flagged) -> Flagged:
        """A flag that stood before the verb, as the command has it."""
        known = flag.option in (*self.node.options, *COMPLETION)
        return flag if known else replace(flag, option=self._find(flag.option.long))

    def _below(self, word: str) -> Node:
        found = self.node.nodes.get(word)
        if found is None:
            near = nearest(word, self.node.nodes)
            known = (
                f"Did you mean `{near}`?" if near else f"There is: {', '.join(self.node.nodes)}."
            )
            raise self._error(f"'{word}' is misspelled or not recognized by the system.\n{known}")
        return found

    def _flag(self, word: str) -> None:
        name, given = _split(word)
        option = self._find(name)
        values = self._after(option, given, long=word.startswith("--"))
        self.flags.append(Flagged(option, tuple(values), len(self.flags)))

    def _after(self, option: Option, given: str | None, *, long: bool) -> Iterator[str]:
        """The values of a flag: `given` with it, or the words that follow."""
        match option.takes:
            case Takes.NOTHING if given is None:
                pass
            case Takes.NOTHING if long:
                raise self._error(f"argument {option.long}: ignored explicit argument '{given}'")
            case Takes.NOTHING:
                self._words.appendleft(f"-{given}")  # `-yn x` is `-y -n x`
            case _ if given is not None:
                yield given
            case Takes.ONE:
                yield self._value(option)
            case Takes.TRUTH:
                yield self._truth()
            case Takes.MANY:
                values = list(self._values())
                if not values:
                    raise self._error(f"argument {option.spelt}: expected at least one argument")
                yield from values

    def _find(self, name: str) -> Option:
        """The option of that name, or the only one that a long name begins."""
        options = self._before if self.node.nodes else self.node.options
        exact = next((one for one in options if name in one.names), None)
        if exact is not None:
            return exact
        begun = {
            full: one
            for one in options
            for full in one.names
            if name.startswith("--") and len(name) > 2 and full.startswith(name)  # noqa: PLR2004
        }
        azs = {one for one in begun.values() if one.of_az}  # `--f` is az's `--file`
        if len(set(begun.values())) == 1 or len(azs) == 1:
            return next(iter(azs or begun.values()))
        if begun:
            raise self._error(f"ambiguous option: {name} could match {', '.join(begun)}")
        raise self._error(self._unknown(name))

    def _unknown(self, name: str) -> str:
        if name in self._absent:
            return f"{name} is not here: {self._absent[name]}"
        options = self._before if self.node.nodes else self.node.options
        near = nearest(
            name, (full for one in options for full in one.names if full[1] == name[1:2])
        )
        return f"unrecognized arguments: {name}" + (f"\nDid you mean {near}?" if near else "")

    def _value(self, option: Option) -> str:
        if not self._words or _is_flag(self._words[0]):
            raise self._error(f"argument {option.spelt}: expected one argument")
        return self._words.popleft()

    def _values(self) -> Iterator[str]:
        while self._words and not _is_flag(self._words[0]):
            yield self._words.popleft()

    def _truth(self) -> str:
        follows = bool(self._words) and self._words[0].casefold() in _TRUTHS
        return self._words.popleft() if follows else "true"

    def _demand(self) -> None:
        """What the command cannot do without, and what it cannot do with."""
        seen = {one.option for one in self.flags}
        missing = [one.spelt for one in self.node.options if one.required and one not in seen]
        takes = self.node.positionals
        missing += [
            one.name
            for one in takes[len(self.positionals) :]
            if one.required and not self.node.nodes
        ]
        if missing:
            raise self._error(f"the following arguments are required: {', '.join(missing)}")
        if not any(one.slot.several for one in takes) and len(self.positionals) > len(takes):
            extra = " ".join(self.positionals[len(takes) :])
            raise self._error(f"unrecognized arguments: {extra}")

    def _error(self, message: str) -> UsageError:
        return _error(message, self.node)


def _error(message: str, node: Node) -> UsageError:
    return UsageError(f"{message}\nTry: {' '.join(('mlctl', *node.path))} --help")


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
