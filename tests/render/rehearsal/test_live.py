"""What a person sees while a rehearsal runs."""

from __future__ import annotations

import io

from rich.console import Console

from mlctl.rehearsal.stage import SlotSpan
from mlctl.render.rehearsal.live import RehearsalView, viewing


def seen(*spans: SlotSpan, height: int = 24) -> list[str]:
    """The lines of the view in the second of seven runs."""
    stream = io.StringIO()
    console = Console(file=stream, width=80, height=height)
    view = RehearsalView(console)
    view.begin("calm", 7)
    view.show(SlotSpan(5, 0, 0, 10, 3, "done"))
    view.begin("kill-1", 7)
    for span in spans:
        view.show(span)
    console.print(view.render())
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_each_slot_has_a_row_with_what_came_of_its_mini_batches() -> None:
    lines = seen(
        SlotSpan(0, 0, 0, 10, None, "done"),
        SlotSpan(0, 0, 10, 70, 4, "done"),
        SlotSpan(1, 0, 10, 40, 5, "lost"),
        SlotSpan(0, 0, 70, 130, 5, "failed"),
    )
    assert lines[0] == "run 2 of 7: kill-1"
    assert [line.split() for line in lines[2:]] == [
        ["1.1", "1", "1", "0", "mini-batch", "5", "failed"],
        ["2.1", "0", "0", "1", "mini-batch", "5", "lost"],
    ]


def test_a_run_that_has_just_begun_has_no_table() -> None:
    assert seen() == ["run 2 of 7: kill-1"]


def test_slots_that_do_not_fit_are_counted() -> None:
    lines = seen(*(SlotSpan(node, 0, 0, 10, None, "done") for node in range(9)), height=7)
    assert lines[0] == "run 2 of 7: kill-1; 6 more slots"
    assert len(lines) == 5


def test_a_view_leaves_nothing_where_it_was() -> None:
    stream = io.StringIO()
    with viewing(stream) as view:
        view.begin("calm", 3)
    assert stream.getvalue().strip() in ("", "run 1 of 3: calm")
