"""Command lines of the commands' own flags with odd values."""

from __future__ import annotations

import os
from functools import cache
from random import Random

from mlctl.cli.app import build
from mlctl.cli.parser.tree import Arity, CommandNode, Option
from tests.builders.shell import cluster
from tests.fuzz.batches import Trial
from tests.fuzz.values import encoded, word

NEVER = ("emulator start",)  # serves until it is stopped
LEFT_OUT = ("--install-completion", "--backend", "--auth", "--cloud", "--help", "--watch")
GOOD = (
    "cpu.yml",
    "cpu",
    "endpoint",
    "1",
    "2",
    "Standard_DS3_v2",
    "amlcompute",
    "1h",
    "json",
    "a=b",
)
BEFORE = (
    ("compute", "create", "--file", "cpu.yml"),
    ("plan", "cpu.yml", "--out", "cpu.plan"),
    ("local", "advance", "1h"),
)


@cache
def commands() -> tuple[CommandNode, ...]:
    """All commands."""
    found = build().commands()
    return tuple(one for one in found if " ".join(one.path) not in NEVER)


def case(trial: Trial) -> None:
    """Some command lines, in a folder with a cluster and a plan."""
    cluster(trial.folder / "cpu.yml")
    for one in BEFORE:
        trial.run(*one)
    for _ in range(4):
        trial.run(*line(trial.random, trial.random.choice(commands())))


def line(random: Random, command: CommandNode) -> list[str]:
    """A command line."""
    options = [one for one in command.options if one.long not in LEFT_OUT]
    wanted = [one for one in options if one.required and random.random() < 0.9]
    wanted += random.sample(options, min(len(options), random.choice((0, 1, 1, 2, 4))))
    flags = [part for one in wanted for part in _flag(random, one)]
    values = [_value(random) for _ in command.positionals]
    parts = [*values, *flags] if random.random() < 0.5 else [*flags, *values]
    if random.random() < 0.1:
        parts.insert(random.randrange(len(parts) + 1), _value(random))
    return [*command.path, *parts]


def _flag(random: Random, option: Option) -> list[str]:
    name = random.choice(option.names)
    if option.arity is Arity.NONE:
        return [name]
    if option.choices and random.random() < 0.5:
        return [name, random.choice(option.choices)]
    many = random.randrange(4) if option.arity is Arity.MANY else 1
    values = [_value(random) for _ in range(many)]
    return [f"{name}={values[0]}"] if values and random.random() < 0.2 else [name, *values]


def _value(random: Random) -> str:
    if random.random() < 0.4:
        return random.choice(GOOD)
    odd = word(random)
    if random.random() < 0.4:
        odd = f"{random.choice(GOOD)}{random.choice('=.,/:@')}{odd}"
    return os.fsdecode(encoded(odd).replace(b"\0", b"0"))  # as the system gives arguments
