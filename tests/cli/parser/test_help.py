"""Help: commands by their sections, the flags of every command on one page."""

from __future__ import annotations

from mlctl.cli.app import SECTIONS, VERBS
from mlctl.cli.parser.help import text
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
