"""Help: commands by their sections, the flags of every command on one page."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

from mlctl.cli.app import SECTIONS, VERBS
from mlctl.cli.parser.help import meaning, text
from mlctl.cli.parser.tree import CommandNode, Option, Positional
from tests.builders.commands import command_tree

ROOT = command_tree()
SHARED = "--backend, --env, --var and the other flags of every command: mlctl --help"


def test_the_commands_stand_in_their_sections_a_line_each() -> None:
    page = text(ROOT, (), width=100)
    sections = {part.splitlines()[0]: part.splitlines()[1:] for part in page.split("\n\n")}
    for section, verbs in SECTIONS.items():
        assert sorted(line.split()[0] for line in sections[section]) == sorted(verbs)
    assert {line.split()[0] for section in SECTIONS for line in sections[section]} == set(VERBS)
    commands = [line for section in SECTIONS for line in sections[section]]
    assert all(len(line) <= 100 and line.endswith(".") for line in commands)


def test_a_sentence_that_is_too_long_for_its_line_is_cut_where_it_can_stand_alone() -> None:
    page = text(ROOT, (), width=100)
    assert "init              : Create a project from a template.\n" in page
    assert "drift             : Show how the workspace differs from the files" in page


def test_the_flags_of_every_command_are_explained_once() -> None:
    whole, plan = text(ROOT, ()), text(ROOT.children["plan"], ())
    assert "--subscription ID" in whole
    assert SHARED not in whole
    assert SHARED in plan
    assert "--subscription ID" not in plan
    shown = text(ROOT.children["compute"].children["show"], ())
    assert "--query JMESPATH" in shown
    assert SHARED in shown


def _nodes(node: CommandNode) -> Iterator[CommandNode]:
    yield node
    for below in node.children.values():
        yield from _nodes(below)


def test_every_flag_and_positional_says_what_it_does() -> None:
    for node in _nodes(ROOT):
        assert all(name.startswith("-") for option in node.options for name in option.names)
        parameters: list[Option | Positional] = [*node.options, *node.positionals]
        for parameter in parameters:
            assert meaning(parameter, node.path).endswith((".", ")")), (node.path, parameter)


def test_every_text_of_a_flag_is_that_of_a_command() -> None:
    used = {
        (" ".join(node.path[:length]), name)
        for node in _nodes(ROOT)
        for name in (
            "more",
            *(option.long for option in node.options if not option.help),
            *(positional.name for positional in node.positionals),
        )
        for length in range(len(node.path) + 1)
    }
    table = tomllib.loads(Path("mlctl/cli/parser/help.toml").read_text(encoding="utf-8"))
    texts = {
        (section, name)
        for section, entry in table.items()
        if isinstance(entry, dict)
        for name in entry
    }
    texts |= {("", name) for name, entry in table.items() if isinstance(entry, str)}
    assert texts <= used
