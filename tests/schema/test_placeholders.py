"""What counts as a placeholder."""

from __future__ import annotations

import pytest

from mlctl.schema.placeholders import is_placeholder, placeholder


@pytest.mark.parametrize(
    "text",
    ["$STAGE", "${STAGE}", "$(stage)", "{{ stage }}", "${{ stage }}", "#{stage}#", "__stage__"],
)
def test_placeholders_of_shells_pipelines_and_templates_are_known(text: str) -> None:
    assert is_placeholder(text)
    assert placeholder(f"../{text}/model") == text
    assert not is_placeholder(f"../{text}/model")


@pytest.mark.parametrize("text", ["", "stage", "a < b", "5 $", "__init__.py"[2:]])
def test_other_text_is_none(text: str) -> None:
    assert placeholder(text) is None
