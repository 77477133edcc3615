"""Pages of HTML: nothing but text is text, nothing is loaded, and every mark is in its place."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl.render.page import html as page
from mlctl.render.page import svg
from mlctl.render.page.html import (
    Curves,
    Histogram,
    HtmlTable,
    Page,
    Prose,
    Scatter,
    Timeline,
    Tornado,
)
from mlctl.render.page.svg import Axis, Bar, Curve, Lane, Point, Stretch, Swing

EVIL = "<script>alert('1')</script>\"&\x1b[31m"
NODES = (
    Lane("node 0", (Stretch("allocating", 0, 180), Stretch("running", 180, 3600))),
    Lane("node 1", (Stretch("running", 180, 900), Stretch("lost", 900, 1000))),
)
VOID = {"meta", "br"}


def whole(words: str = "words") -> Page:
    """A page with every part, in which all words are these."""
    return Page(
        words,
        words,
        (
            Prose(words, (words,)),
            HtmlTable(words, (words, words), ((words, words),), words),
            Curves(
                words, (Curve(words, ((1, 0.5), (2, 1))),), Axis(words, words, words), (words, 1)
            ),
            Histogram(words, (Bar(words, 3, words), Bar(words, 0, words)), words),
            Timeline(words, 3600, NODES, (words, words)),
            Tornado(words, 3.0, (Swing(words, 2.0, 6.0, words, words),), words),
            Scatter(
                words,
                (Point(words, 1, 2, marked=True), Point(words, 2, 1)),
                Axis(words, words, words),
                Axis(words, words, words),
                words,
            ),
        ),
    )


class Reader(HTMLParser):
    """Reads a page: the names of its elements, its text, and whether all of them are closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def rectangles(text: str) -> list[tuple[str, float, float]]:
    """The marks: class, left and width in thousandths of their place."""
    found = re.findall(r'<rect class="(\w+)" x="([\d.]+)" y="0" width="([\d.]+)"', text)
    return [(kind, float(left), float(width)) for kind, left, width in found]


def test_every_element_is_closed() -> None:
    assert Reader(page.document(whole())).open == []


def test_all_words_are_text_wherever_they_stand() -> None:
    text = page.document(whole(EVIL))
    found = Reader(text)
    assert found.names == Reader(page.document(whole())).names
    assert "script" not in found.names
    assert "\x1b" not in text


def test_a_page_loads_nothing_and_runs_nothing() -> None:
    text = page.document(whole())
    found = Reader(text)
    assert not found.names & {"script", "link", "img", "iframe", "object", "base", "form"}
    assert not [name for name, _ in found.attributes if name in ("src", "href", "style", "srcset")]
    assert not [name for name, _ in found.attributes if name.startswith("on")]
    assert "default-src 'none'" in text
    assert "url(" not in text
    assert "@import" not in text
    assert "//" not in text


def test_a_page_is_dark_where_the_system_is_and_fits_a_phone() -> None:
    text = page.document(whole())
    assert "prefers-color-scheme:dark" in text
    assert 'content="width=device-width, initial-scale=1"' in text


def test_the_longest_bar_fills_its_place_and_nothing_is_no_bar() -> None:
    found = rectangles(svg.bars([Bar("a", 4, "4"), Bar("b", 1, "1"), Bar("c", 0, "0")]))
    assert found == [("mark", 0, 1000), ("mark", 0, 250), ("mark", 0, 0)]


def test_bars_that_are_all_nothing_are_drawn() -> None:
    assert rectangles(svg.bars([Bar("a", 0, "0")])) == [("mark", 0, 0)]


def test_a_spell_stands_where_its_time_is() -> None:
    found = rectangles(svg.timeline(3600, NODES, ("0", "1h")))
    assert found == [
        ("allocating", 0, 50),
        ("running", 50, 950),
        ("running", 50, 200),
        ("lost", 250, 27.8),
    ]


def test_the_legend_has_the_states_that_there_are() -> None:
    text = page.document(Page("", "", (Timeline("", 3600, NODES, ("0", "1h")),)))
    keys = re.findall(r'<i class="(\w+)">', text)
    assert keys == ["allocating", "running", "lost"]


def test_a_swing_goes_from_the_unchanged_result_to_both_ends() -> None:
    found = rectangles(svg.tornado(3, [Swing("a", 2, 6, "2", "6"), Swing("b", 4, 2.5, "4", "2.5")]))
    assert found == [("low", 0, 250), ("high", 250, 750), ("low", 250, 250), ("high", 125, 125)]


def test_a_swing_without_an_end_fills_its_place() -> None:
    found = rectangles(svg.tornado(3, [Swing("a", 2, inf, "2", "never"), Swing("b", 2, 6, "", "")]))
    assert found[1] == ("high", 250, 750)


@pytest.mark.parametrize("values", [(), (1.0,), (nan, 1.0), (inf, 2.0, 1.0)])
def test_points_that_have_no_place_are_left_out(values: tuple[float, ...]) -> None:
    axis = Axis("a", "0", "1")
    text = svg.scatter([Point("p", value, 1) for value in values], axis, axis)
    assert text.count("<circle") == sum(abs(value) < inf for value in values)


@given(st.lists(st.tuples(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9)), max_size=8))
def test_every_point_is_on_the_plot(points: list[tuple[float, float]]) -> None:
    axis = Axis("a", "0", "1")
    text = svg.scatter([Point("p", x, y) for x, y in points], axis, axis)
    for left, top in re.findall(r'cx="(-?[\d.]+)" cy="(-?[\d.]+)"', text):
        assert 0 <= float(left) <= 480
        assert 0 <= float(top) <= 280


@given(st.text(min_size=1))
def test_no_words_are_markup(words: str) -> None:
    expected = Reader(page.document(whole()))
    found = Reader(page.document(whole(words)))
    assert found.open == []
    assert found.names <= expected.names


def test_curves_stand_in_one_picture_with_their_names_and_a_line() -> None:
    rows = [
        Curve("calm", ((0.0, 0.05), (0.0, 0.95))),
        Curve("<stress>", ((0.0, 0.5), (2.0, 0.95))),
    ]
    drawn = svg.curves(rows, Axis("time", "1 h", "9 h"), ("deadline 4 h", 1.0))
    assert drawn.count('class="curve curve') == 2
    assert ">deadline 4 h</text>" in drawn
    assert "&lt;stress&gt;" in drawn
    assert "<stress>" not in drawn


def test_labels_of_points_stand_clear_of_each_other() -> None:
    points = [Point(f"row {number}", 0.0, 0.0, marked=True) for number in range(4)]
    drawn = svg.scatter(points, Axis("x", "", ""), Axis("y", "", ""))
    tops = sorted(float(top) for top in re.findall(r'<text x="[^"]*" y="([^"]*)"', drawn))
    assert all(later - earlier >= 15 for earlier, later in pairwise(tops))
