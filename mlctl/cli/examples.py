"""The examples of every command: help shows them, `docs/cli.md` prints them, a test runs them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Example:
    """A command line to copy, and what it does."""

    title: str
    command: str


def examples(path: Sequence[str]) -> list[Example]:
    """The examples of the command at a path: `("compute", "create")`."""
    found = all_examples().get(" ".join(path), {})
    return [Example(title, command.strip()) for title, command in found.items()]


@cache
def all_examples() -> Mapping[str, Mapping[str, str]]:
    """Title to command line, by the command."""
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
