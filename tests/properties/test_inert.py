"""Laws of output: nothing in it is obeyed, and data in it is what it was."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mlctl import inert
from mlctl.cli.shell import streams
from mlctl.cli.shell.global_args import GlobalArgs
from mlctl.cli.shell.session import Session
from mlctl.pointer import Data
from mlctl.render.cloud import resources
from mlctl.render.terminal.terminal import Style, Styler, cells, clean
from mlctl.service_errors import Permanent

PIECES = [
    *("::error::", "::error file=x::y", "::set-output name=a::b", "##vso[task.x]y", "##[error]z"),
    *("###VSO[", "\n", "\r\n", "\x1b[2J", "\x1b[31m", "\x1b]0;t\x07", "\x9b1m", "\x00", "\x7f"),
    *("\u202e", "\u2066", "\u2028", "\x85", "\ufeff", "\u200d", "\ud800", "\U000e0001", "\t"),
    *(" ", "\xa0", "\u3000", ":", "#", "'", '"', "\\", "- ", "key: ", "é", "漢", "a"),
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=12).map("".join)
DATA = st.recursive(
    TEXTS | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
COMMAND = re.compile(r"##(?:vso)?\[", re.IGNORECASE)


def assert_inert(text: str) -> None:
    """No terminal and no build agent does what the text says."""
    for line in text.split("\n"):
        assert not line.lstrip().startswith("::")
        assert COMMAND.search(line) is None
        assert not [one for one in line if unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp")]
        formats = {one for one in line if unicodedata.category(one) == "Cf"}
        assert formats <= {"\u200c", "\u200d"}


@given(TEXTS)
def test_nothing_in_a_line_is_obeyed(text: str) -> None:
    shown = clean(text)
    assert_inert(shown)
    assert "\n" not in shown
    assert clean(shown) == shown
    snippet = "".join(glyph for glyph, _ in cells(text.replace("\n", "")))
    assert_inert(f"1 | {snippet}")


@given(TEXTS)
def test_nothing_that_is_told_is_obeyed(text: str) -> None:
    capture = pytest.MonkeyPatch()
    written: list[str] = []
    with capture.context() as patched:
        for stream in ("stdout", "stderr"):
            patched.setattr(f"sys.{stream}.write", written.append, raising=False)
        session = Session(GlobalArgs(), {"HOME": "/nowhere"})
        for tell in (session.say, session.note, session.out, streams.say, streams.ask):
            tell(text)
        session.say(f"ERROR: {Permanent(text, text, details=(text,))}")
    assert_inert("".join(written))
    assert text == "" or written


@given(TEXTS)
def test_the_styles_of_mlctl_survive_and_no_others(text: str) -> None:
    painted = Styler(color=True).apply("x", Style.BOLD_RED)
    shown = inert.lines(f"{painted} {text}", frozenset({"\x1b[1;31m", "\x1b[0m"}))
    assert shown.startswith(painted)
    assert_inert(re.sub("\x1b\\[(1;31|0)m", "", shown))


@given(DATA)
def test_json_says_the_same_and_is_not_obeyed(data: Data) -> None:
    for text in (
        resources.output(data, "json"),
        inert.as_json(data, indent=1),
        inert.as_json(data) + "\n",
    ):
        assert json.loads(text) == data
        assert_inert(text)


@given(DATA)
def test_yaml_says_the_same_and_is_not_obeyed(data: Data) -> None:
    text = resources.output(data, "yaml")
    assert_inert(text)
    if "\\ud800" not in json.dumps(data):  # half of a pair, which YAML does not have
        assert yaml.safe_load(text) == data


@given(st.lists(TEXTS, min_size=1, max_size=3))
def test_a_row_of_tsv_is_one_line_of_as_many_cells(cells: list[str]) -> None:
    text = resources.output([cells], "tsv")
    assert text.count("\n") == 1
    assert text.count("\t") == len(cells) - 1
    assert_inert(text.replace("\t", " "))


@given(st.lists(st.dictionaries(TEXTS, TEXTS, max_size=3), max_size=3))
def test_a_table_is_not_obeyed(rows: list[dict[str, str]]) -> None:
    assert_inert(resources.output(rows, "table"))
