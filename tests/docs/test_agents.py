"""What agents are told to run are commands that there are."""

from __future__ import annotations

import re

import pytest

from tests.builders.commands import command_tree
from tests.builders.paths import ROOT


@pytest.mark.parametrize("page", ["AGENTS.md", "docs/share/skill/SKILL.md", "docs/editors.md"])
def test_every_command_that_agents_are_told_of_is_there(page: str) -> None:
    verbs = set(re.findall(r"`mlctl ([a-z][\w-]*)", (ROOT / page).read_text(encoding="utf-8")))
    assert verbs
    assert verbs <= {*command_tree().children}
