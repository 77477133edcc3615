"""Builders: the tree of all commands, read once."""

from __future__ import annotations

from functools import cache

from mlctl.cli.app import build
from mlctl.cli.parser.tree import CommandNode


@cache
def command_tree() -> CommandNode:
    """Every command with its flags, as the parser and the help know it."""
    return build()
