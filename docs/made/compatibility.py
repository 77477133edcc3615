"""`docs/az-compatibility.md`: each flag of `az ml`, and whether mlctl has it."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from mlctl.cli.az.compatibility import compatibility
from mlctl.cli.parser.tree import CommandNode, Option

_TABLES = compatibility()


class Support(Enum):
    """Whether mlctl has a flag of az."""

    SAME = "same"
    BETTER = "better"
    ABSENT = "not supported"


@dataclass(frozen=True, slots=True)
class AzFlag:
    """A flag of az: `compute create`, its names in az's order, whether az requires it.

    A command without flags has one without names. Every command has the `shared` ones.
    """

    command: str
    names: tuple[str, ...]
    required: bool
    shared: bool = False


@dataclass(frozen=True, slots=True)
class FlagSupport:
    """Whether mlctl has a flag, and how it is better or why it is absent."""

    flag: AzFlag
    support: Support
    why: str = ""


def az_flags(text: str) -> list[AzFlag]:
    """The flags of the data file, those of every command given to each."""
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    flags = [
        AzFlag(row["command"], tuple(row["flag"].split()), row["required"] == "yes") for row in rows
    ]
    own = [flag for flag in flags if not flag.command.startswith("*")]
    commands = dict.fromkeys(flag.command for flag in own)
    shared = [
        AzFlag(command, flag.names, flag.required, shared=True)
        for command in commands
        for flag in flags
        if flag.command == "*"
        or (flag.command == "* but list and show" and command.split()[1] not in ("list", "show"))
    ]
    return [*own, *shared]


def compare_flags(root: CommandNode, flags: Iterable[AzFlag]) -> Iterator[FlagSupport]:
    """The support of each flag.

    Raises:
        ValueError: a flag is absent, or lacks one of its names, and no reason is given.
    """
    ours = {" ".join(node.path): node for node in root.commands()}
    for flag in flags:
        node = ours.get(flag.command)
        if node is None:
            yield FlagSupport(flag, Support.ABSENT, _why(flag, _TABLES.commands.get(flag.command)))
        elif not flag.names or (_absent(flag) is None and _has(node, flag)):
            better = _better(flag)
            yield FlagSupport(flag, Support.BETTER if better else Support.SAME, better)
        else:
            yield FlagSupport(flag, Support.ABSENT, _why(flag, _absent(flag)))


def page(flags: Iterable[FlagSupport], lines: str) -> str:
    """The page as Markdown; `lines` says what becomes of published lines."""
    supported = list(flags)
    parts = [_HEAD, _counts(supported), lines, f"## Every command\n\n{_shared(supported)}"]
    for name in dict.fromkeys(entry.flag.command.split()[0] for entry in supported):
        of_group = [entry for entry in supported if entry.flag.command.split()[0] == name]
        parts.append(f"## {name}\n\n{_table(of_group)}")
    return "\n".join(parts)


_HEAD = """\
# `az ml` and mlctl

<!-- Generated from the command tree and docs/data/az-ml.csv; `make docs` writes it. -->

Each flag of `az ml` for the kinds that mlctl manages. **same**: name, short form and meaning are
az's. **better**: the same, and more. **not supported**: refused with the reason.

`eval "$(mlctl az-shim)"` puts an executable `az` first on the path: scripts that call `az ml` then
run with mlctl, and with the local backend they never reach Azure.

mlctl accepts what az accepts: unambiguous abbreviations of flags, several values after `--set`,
`--add`, `--remove`, `--tags` and `--user-assigned-identities`, and `@FILE` for the content of a
file. Every writing command accepts `--dry-run`, and plans and applies its change as `mlctl apply`
does.
"""


def _counts(supported: list[FlagSupport]) -> str:
    shared = {entry.flag.names: entry for entry in _here(supported)}
    own_flags = [entry for entry in supported if entry.flag.names and not entry.flag.shared]
    counted = Counter(entry.support for entry in (*own_flags, *shared.values()))
    commands = {entry.flag.command: entry.support for entry in supported}
    count = sum(support is not Support.ABSENT for support in commands.values())
    numbers = ", ".join(f"{counted[support]} {support.value}" for support in Support)
    return (
        f"**{count} of {len(commands)} commands are supported."
        f" Of {sum(counted.values())} flags: {numbers}.**\n"
    )


def _table(of_group: list[FlagSupport]) -> str:
    rows = ["| command | flag | support | details |", "|---|---|---|---|"]
    absent = dict.fromkeys(
        (entry.flag.command, entry.why)
        for entry in of_group
        if entry.flag.command in _TABLES.commands
    )
    rows += [
        _row(entry)
        for entry in of_group
        if entry.flag.names and not entry.flag.shared and entry.flag.command not in _TABLES.commands
    ]
    rows += [f"| {command} | all | not supported | {why} |" for command, why in absent]
    return "\n".join(rows) + "\n"


def _shared(supported: list[FlagSupport]) -> str:
    rows = ["| flag | support | details |", "|---|---|---|"]
    shared = {entry.flag.names: entry for entry in _here(supported)}
    rows += [_row(entry).removeprefix(f"| {entry.flag.command} ") for entry in shared.values()]
    return "\n".join(rows) + "\n"


def _here(supported: list[FlagSupport]) -> list[FlagSupport]:
    """The flags that every command has."""
    return [
        entry for entry in supported if entry.flag.shared and entry.support is not Support.ABSENT
    ]


def _row(entry: FlagSupport) -> str:
    names = " ".join(f"`{name}`" for name in entry.flag.names)
    support = (
        f"**{entry.support.value}**" if entry.support is Support.BETTER else entry.support.value
    )
    return f"| {entry.flag.command} | {names} | {support} | {entry.why} |"


def _has(node: CommandNode, flag: AzFlag) -> bool:
    return any(
        set(flag.names) <= set(option.names) and _no_stricter(option, flag)
        for option in node.options
    )


def _no_stricter(option: Option, flag: AzFlag) -> bool:
    return flag.required or not option.required


def _absent(flag: AzFlag) -> str | None:
    return _TABLES.flags.get(f"{flag.command} {flag.names[0]}", _TABLES.flags.get(flag.names[0]))


def _better(flag: AzFlag) -> str:
    names = " ".join(flag.names)
    return _TABLES.better.get(f"{flag.command} {names}", _TABLES.better.get(names, ""))


def _why(flag: AzFlag, why: str | None) -> str:
    if why is None:
        raise ValueError(
            f"`az ml {flag.command}` has {' '.join(flag.names)}: say why it is not here"
        )
    return why
