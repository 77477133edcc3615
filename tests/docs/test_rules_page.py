"""The page of rules says what the program says."""

from __future__ import annotations

import re

import pytest

from docs.made.rules_page import RuleExample, page
from mlctl.project.rules import ALL_RULES
from tests.builders.paths import CASES, ROOT, SAMPLES

PAGE = ROOT / "docs" / "rules.md"


def examples() -> dict[str, RuleExample]:
    """The bad cases, by code."""
    return scripts() | {
        folder.name.partition("-")[0]: RuleExample(
            (folder / "bad.yml").read_text(encoding="utf-8"),
            (folder / "expected.txt").read_text(encoding="utf-8"),
        )
        for folder in sorted((CASES / "rules").iterdir())
    }


def scripts() -> dict[str, RuleExample]:
    """The samples whose line with a defect names its code."""
    return {
        code: RuleExample(text, language="python")
        for file in sorted((SAMPLES / "rehearsal").rglob("*.py"))
        for text in [file.read_text(encoding="utf-8")]
        for code in re.findall(r"# (MLC6\d\d)", text)
    }


def test_the_page_of_rules_is_up_to_date(request: pytest.FixtureRequest) -> None:
    given = page(ALL_RULES, examples())
    if request.config.getoption("--update-cases"):
        PAGE.write_text(given, encoding="utf-8")
    assert given == PAGE.read_text(encoding="utf-8"), "pytest --update-cases writes it anew"


def test_no_code_and_no_name_is_given_twice() -> None:
    assert len({rule.code for rule in ALL_RULES}) == len(ALL_RULES)
    assert len({rule.name for rule in ALL_RULES}) == len(ALL_RULES)


def test_every_rule_has_a_row_and_a_section_that_can_be_linked_to() -> None:
    text = page(ALL_RULES, {})
    rows = [f"[{one.code}](#{one.code.lower()}) | {one.name}" for one in ALL_RULES]
    heads = [f'<a id="{one.code.lower()}"></a>{one.code} {one.name}' for one in ALL_RULES]
    assert all(text.count(one) == 1 for one in rows + heads)
