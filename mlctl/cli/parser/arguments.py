"""Parse a command line as az does.

az's rules are those of argparse and azure-cli-core: a long flag may be abbreviated if unambiguous,
several values may follow one flag, a switch may have its value or not, and `@FILE` stands for the
content of a file. decisions/0040 says why argparse is not used.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from mlctl.cli.parser import tree
from mlctl.dataclasses import dataclass, replace
from mlctl.schema.text import nearest

BOOLEANS = ("true", "false", "yes", "no", "on", "off", "1", "0", "t", "f", "y", "n")
_NUMBER = re.compile(r"-\d+|-\d*\.\d+")
_OF_TERRAFORM = {"--auto-approve": "--yes"}


class UsageError(Exception):
    """The command line is wrong; the message says why, and what to write instead."""


class InvalidValue(UsageError):
    """A flag or argument has an invalid value; `flag` is its name, if any."""

    def __init__(self, why: str, flag: str = "") -> None:
        super().__init__(f"Invalid value for {flag}: {why}" if flag else f"Invalid value: {why}")


@dataclass(frozen=True, slots=True)
class TypedFlag:
    """An occurrence of a flag: the values after it, and how many flags precede it."""

    option: tree.Option
    values: tuple[str, ...]
    position: int


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A parsed command line: the command or group that it names, its flags and values."""

    command: tree.CommandNode
    flags: tuple[TypedFlag, ...]
    positionals: tuple[str, ...]

    @property
    def wants_help(self) -> bool:
        """Whether `--help` is given."""
        return any(flag.option is tree.HELP for flag in self.flags)

    @property
    def wants_completion(self) -> bool:
        """Whether `--install-completion` or `--show-completion` is given."""
        return any(flag.option in tree.COMPLETION for flag in self.flags)


def read(
    args: Sequence[str], root: tree.CommandNode, absent: Mapping[str, str] = MappingProxyType({})
) -> CommandLine:
    """Parse `args`. `absent` says why a flag of az does not exist here."""
    return _Reader(deque(args), root, absent).read()


def bind(line: CommandLine) -> dict[str, Any]:
    """Return every parameter of the line's command with its value, given or default.

    A parameter whose flag takes several values gets the occurrences of the flag.
    """
    return {**line.command.defaults, **dict(_bind_flags(line)), **dict(_bind_positionals(line))}


def expand_files(args: Sequence[str], read: Callable[[str], str]) -> list[str]:
    """Replace each `@FILE` by the content of FILE, if `read` can read it.

    Source: azure-cli-core, `_expand_file_prefixed_files`.
    """
    return [_expand(arg, read) for arg in args]


def usage_error(message: str, command: tree.CommandNode) -> UsageError:
    """Return the error with the message and a pointer to the command's help."""
    return UsageError(f"{message}\nTry: {' '.join(('mlctl', *command.path))} --help")


def _expand(arg: str, read: Callable[[str], str]) -> str:
    flag, equals, value = arg.partition("=") if arg.startswith("--") else ("", "", arg)
    if not value.startswith("@") or value == "@":
        return arg
    try:
        return flag + equals + read(value[1:]).rstrip("\r\n")
    except (OSError, UnicodeDecodeError):
        return arg


class _Reader:
    """Reads the arguments once, from the root of the commands to a leaf."""

    def __init__(self, args: deque[str], root: tree.CommandNode, absent: Mapping[str, str]) -> None:
        self._args = args
        self._command = root
        self._absent = absent
        self._before_command = (*root.options, *tree.BEFORE_COMMAND)

    def read(self) -> CommandLine:
        flags: list[TypedFlag] = []
        positionals: list[str] = []
        while self._args:
            following = (*self._command.children, *tree.HELP.names)
            if self._command.run is not None and self._args[0] not in following:
                self._command = replace(self._command, children={})
            arg = self._args.popleft()
            if arg == "--":
                positionals += self._args
                break
            if arg.startswith("-") and arg != "-":
                option, values = self._flag(arg)
                flags.append(TypedFlag(option, tuple(values), len(flags)))
            elif self._command.children:
                self._command = self._child(arg)
            else:
                positionals.append(arg)
        if not self._command.children:
            flags = [self._own(argument) for argument in flags]
        line = CommandLine(self._command, tuple(flags), tuple(positionals))
        if not line.wants_help:
            self._check(line)
        return line

    @property
    def _options(self) -> tuple[tree.Option, ...]:
        return self._before_command if self._command.children else self._command.options

    def _child(self, name: str) -> tree.CommandNode:
        children = self._command.children
        if name in children:
            return children[name]
        why = self._absent.get(" ".join((*self._command.path, name)))
        if why is not None:
            raise self._error(f"'{name}' is not supported: {why}.")
        near = nearest(name, children)
        hint = f"Did you mean `{near}`?" if near else f"Choose from: {', '.join(children)}."
        raise self._error(f"'{name}' is misspelled or not recognized by the system.\n{hint}")

    def _own(self, flag: TypedFlag) -> TypedFlag:
        """Return a flag that preceded the verb, as the command declares it."""
        if flag.option in (*self._command.options, *tree.COMPLETION):
            return flag
        return replace(flag, option=self._find(flag.option.long))

    def _flag(self, arg: str) -> tuple[tree.Option, Sequence[str]]:
        """Return the option that an argument names, and its values, attached or following."""
        name, attached = _split(arg)
        option = self._find(name)
        match option.arity:
            case tree.Arity.NONE if attached is not None and arg.startswith("--"):
                message = f"argument {option.long}: ignored explicit argument '{attached}'"
                raise self._error(message)
            case tree.Arity.NONE:
                if attached is not None:
                    self._args.appendleft(f"-{attached}")  # `-yn x` is `-y -n x`
                return option, ()
            case _ if attached is not None:
                return option, (attached,)
            case tree.Arity.BOOLEAN:
                follows = bool(self._args) and self._args[0].casefold() in BOOLEANS
                return option, (self._args.popleft() if follows else "true",)
            case tree.Arity.ONE if self._has_value():
                return option, (self._args.popleft(),)
            case tree.Arity.MANY if self._has_value():
                return option, tuple(self._values())
        expected = "one argument" if option.arity is tree.Arity.ONE else "at least one argument"
        raise self._error(f"argument {option.all_names}: expected {expected}")

    def _has_value(self) -> bool:
        """Whether a value follows, by argparse's rules: `-1` and `- x` are values, `-x` is not."""
        if not self._args:
            return False
        arg = self._args[0]
        return arg[:1] != "-" or len(arg) == 1 or " " in arg or bool(_NUMBER.fullmatch(arg))

    def _values(self) -> Iterator[str]:
        while self._has_value():
            yield self._args.popleft()

    def _find(self, name: str) -> tree.Option:
        """Return the option of that name, or the only one that a long name abbreviates."""
        begun = dict[str, tree.Option]()
        for option in self._options:
            if name in option.names:
                return option
            if name.startswith("--"):
                begun |= {full: option for full in option.names if full.startswith(name)}
        az = {
            candidate for candidate in begun.values() if candidate.is_az
        }  # `--f` is az's `--file`
        if len(set(begun.values())) == 1 or len(az) == 1:
            return next(iter(az or begun.values()))
        if begun:
            raise self._error(f"ambiguous option: {name} could match {', '.join(begun)}")
        raise self._error(self._unknown(name))

    def _unknown(self, name: str) -> str:
        of_command = self._absent.get(" ".join((*self._command.path, name)))
        why = of_command or self._absent.get(name)
        if why is not None:
            return f"{name} is not supported: {why}"
        field = self._field(name)
        if field is not None:
            return f"unrecognized arguments: {name}\nWrite it as a field: --set {field}=VALUE"
        names = (full for option in self._options for full in option.names if full[1] == name[1:2])
        near = nearest(_OF_TERRAFORM.get(name, name), names)
        return f"unrecognized arguments: {name}" + (f"\nDid you mean {near}?" if near else "")

    def _field(self, name: str) -> str | None:
        """Return the field that an unknown flag probably means, if the command has --set."""
        from mlctl.kinds import KINDS  # for this error alone

        kind = KINDS.get(" ".join(self._command.path[:1]))
        if kind is None or not any("--set" in option.names for option in self._options):
            return None
        key = name[2:].replace("-", "_")
        fields = {field.at for form in kind.forms for field in form.fields}
        at = next(
            (at for at in ((key,), ("settings", key), ("resources", key)) if at in fields), None
        )
        return at and ".".join(at)

    def _check(self, line: CommandLine) -> None:
        """Refuse a line that lacks what its command requires, or has too many values."""
        count, declared = len(line.positionals), line.command.positionals
        flags = {flag.option for flag in line.flags}
        missing = [
            option.all_names
            for option in line.command.options
            if option.required and option not in flags
        ]
        missing += [positional.name for positional in declared[count:] if positional.required]
        if missing:
            raise self._error(f"the following arguments are required: {', '.join(missing)}")
        if count > len(declared) and not any(
            positional.parameter.is_list for positional in declared
        ):
            extra = " ".join(line.positionals[len(declared) :])
            raise self._error(f"unrecognized arguments: {extra}")

    def _error(self, message: str) -> UsageError:
        return usage_error(message, self._command)


def _split(arg: str) -> tuple[str, str | None]:
    """Split `--name=x` and `-nx` into flag and value; None if no value is attached."""
    if arg.startswith("--"):
        name, equals, value = arg.partition("=")
        return name, value if equals else None
    return arg[:2], arg[2:].removeprefix("=") or None


def _bind_flags(line: CommandLine) -> Iterator[tuple[str, Any]]:
    occurrences: dict[str, list[TypedFlag]] = {}
    for flag in line.flags:
        occurrences.setdefault(flag.option.parameter.name, []).append(flag)
    for name, flags in occurrences.items():
        option = flags[0].option
        match option.arity:
            case tree.Arity.NONE:
                yield name, True
            case tree.Arity.MANY:
                yield name, flags
            case tree.Arity.ONE | tree.Arity.BOOLEAN:
                values = [
                    _convert(line, option.parameter, flag.values[0], flag.option.all_names)
                    for flag in flags
                ]
                yield name, values if option.parameter.is_list else values[-1]


def _bind_positionals(line: CommandLine) -> Iterator[tuple[str, Any]]:
    remaining = list(line.positionals)
    for positional in line.command.positionals:
        own_values, remaining = (
            (remaining, []) if positional.parameter.is_list else (remaining[:1], remaining[1:])
        )
        values = [
            _convert(line, positional.parameter, text, positional.name) for text in own_values
        ]
        if values:
            yield positional.parameter.name, values if positional.parameter.is_list else values[0]


def _convert(line: CommandLine, parameter: tree.FlagParameter, text: str, name: str) -> Any:
    """Convert `text` to the parameter's type: text, a path, a number, a word in any case."""
    allowed = tree.choices(parameter.type)
    if allowed:
        for word, value in allowed.items():
            if word.casefold() == text.casefold():
                return value
        expected = f"Allowed values: {', '.join(allowed)}."
    else:
        try:
            value = parameter.type(text)
        except ValueError:
            number_kind = "a whole number" if parameter.type is int else "a number"
            expected = f"It takes {number_kind}."
        else:
            if parameter.allows(value):
                return value
            expected = f"It takes {parameter.bounds}."
    message = f"'{text}' is not a valid value for '{name}'. {expected}"
    raise usage_error(message, line.command)
