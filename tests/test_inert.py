"""Text of strangers in Markdown: shown as it is, and nothing of it is obeyed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl.inert import code_span, prose, table_row

WILD = (
    *("@octocat", "@org/team", "<img src=x onerror=alert(1)>", "![a b](http://x/y.png)", "[a](b)"),
    *("<!-- mlctl plan -->", "https://evil.example", "www.evil.example", "#1", "!7", "GH-12"),
    *("owner/repo#3", "</details>", "a@b.example", "&lt;b&gt;", "**x**", "~~x~~", "/close", "$x$"),
    *("0123456789abcdef0123456789abcdef01234567", "`a` @b `c", "``", "a`@b`c", "\\@x", "//x.y"),
)


def outside_code(text: str) -> str:
    """What of Markdown stands in no code span, by CommonMark's rule of runs of backticks."""
    shown, at = "", 0
    while at < len(text):
        run = re.compile("`+").match(text, at)
        if run is None:
            shown, at = shown + text[at], at + 1
            continue
        end = re.compile(f"(?<!`){run[0]}(?!`)").search(text, run.end())
        shown, at = (shown, end.end()) if end else (shown + run[0], run.end())
    return shown


@pytest.mark.parametrize("text", WILD)
def test_what_markdown_would_obey_is_code(text: str) -> None:
    for markdown in (prose(text), prose(f"see {text}, please"), code_span(text)):
        assert not set(outside_code(markdown)) & set("@<>![]#*~&$\\`")
        assert not re.search(r"//|www|GH-|[0-9a-f]{7}|(^|\s)/", outside_code(markdown))


@given(st.text(alphabet="a1 `@<>![]()#*~&$\\/|_-.:", max_size=30))
def test_whatever_the_text_nothing_of_it_is_obeyed(text: str) -> None:
    for markdown in (prose(text), code_span(text)):
        assert not set(outside_code(markdown)) & set("@<>![]#*~&$\\`|")


def test_code_beside_code_stays_code() -> None:
    assert prose("`1``@team") == "`1` `` `@team ``"
    assert prose("`a`<b>") == "`a` `<b>`"


def test_plain_sentences_stay_as_they_are() -> None:
    for text in (
        "`max_instances` is 7, of which the region allows 4 (Standard_D4ds_v5).",
        "written 2026-11-23T10:00:00Z by unknown",
        "compute/cpu-cluster: 1 to add, 50 % left; why?",
    ):
        assert prose(text) == text


def test_a_pipe_ends_no_cell_of_a_table() -> None:
    assert table_row(["a", code_span("x | y")]) == "| a | `x \\| y` |"
