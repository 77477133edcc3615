"""The page of rules says what the program says."""

from __future__ import annotations

import re

import pytest

from docs.made.rules_page import RuleExample, pages
from mlctl.project.rules import ALL_RULES
from tests.builders.paths import CASES, ROOT, SAMPLES

DOCS = ROOT / "docs"


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


def test_the_pages_of_rules_are_up_to_date(request: pytest.FixtureRequest) -> None:
    for page, text in pages(ALL_RULES, examples()).items():
        file = DOCS / page
        if request.config.getoption("--update-cases"):
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert text == file.read_text(encoding="utf-8"), "pytest --update-cases writes it"


def test_no_code_and_no_name_is_given_twice() -> None:
    assert len({rule.code for rule in ALL_RULES}) == len(ALL_RULES)
    assert len({rule.name for rule in ALL_RULES}) == len(ALL_RULES)


def test_every_rule_has_a_row_and_a_section_that_can_be_linked_to() -> None:
    written = pages(ALL_RULES, {})
    index = written.pop("rules.md")
    for rule in ALL_RULES:
        row = re.search(
            rf"\[{rule.code}\]\((rules/\w+\.md)#{rule.code.lower()}\) \| {rule.name}", index
        )
        assert row, rule.code
        head = f'<a id="{rule.code.lower()}"></a>{rule.code} {rule.name}'
        assert [page for page, text in written.items() if head in text] == [row[1]]
