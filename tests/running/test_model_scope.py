"""What the expressions of a step may name."""

from __future__ import annotations

import pytest

from mlctl.running.model import Literal, LoopOutput, RunError, StepOutput, StepScope

WROTE = StepOutput("write", "text")
SCOPE = StepScope(
    {"word": Literal("hello"), "group.size": Literal("3")}, {"write": {"text": WROTE}}
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", Literal("plain")),
        ("${{parent.inputs.word}}", Literal("hello")),
        ("${{parent.inputs.absent}}", None),
        ("${{parent.jobs.write.outputs.text}}", WROTE),
        ("${{parent.jobs.write.outputs}}", WROTE),
        ("--n ${{parent.inputs.group.size}}!", Literal("--n 3!")),
        ("or ${{parent.jobs.write.outputs.text}}", LoopOutput((WROTE,))),
    ],
)
def test_an_expression_is_what_its_pipeline_has_under_that_name(text: str, value: object) -> None:
    assert SCOPE.value(text, "x.yml:1") == value


@pytest.mark.parametrize("text", ["${{%s}}", "a ${{%s}} b", "or ${{%s}}"])
def test_an_expression_that_leads_nowhere_is_refused_wherever_it_stands(text: str) -> None:
    with pytest.raises(RunError, match=r"^x.yml:1: `\$\{\{parent.jobs.read.outputs.text}}` leads"):
        SCOPE.value(text % "parent.jobs.read.outputs.text", "x.yml:1")
