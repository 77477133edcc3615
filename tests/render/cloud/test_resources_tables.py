"""The tables that people look at: the right columns, colours on a terminal, no line ever cut."""

from __future__ import annotations

import re
from typing import Any

import pytest

from mlctl.kinds import KINDS
from mlctl.render.cloud import resources

CLUSTER: dict[str, Any] = {
    "name": "low-pri-cluster",
    "provisioning_state": "Succeeded",
    "size": "STANDARD_DS3_V2",
    "tier": "low_priority",
    "current_node_count": 2,
    "min_instances": 0,
    "max_instances": 4,
    "node_counts": {"preempted": 1},
}


def table(*items: dict[str, Any], color: bool = False) -> str:
    """The table of clusters."""
    rows = resources.rows(list(items), KINDS["compute"].az.columns)
    return resources.output(rows, "table", color=color)


def test_a_cluster_is_seen_with_its_nodes() -> None:
    head, _, row = table(CLUSTER).splitlines()
    assert head.split() == [
        *("Name", "State", "Size", "Tier", "Nodes", "Min", "Max", "Preempted", "Location")
    ]
    assert row.split() == [
        *("low-pri-cluster", "Succeeded", "STANDARD_DS3_V2", "low_priority", "2", "0", "4", "1")
    ]


def test_what_is_not_there_leaves_its_column_empty() -> None:
    bare = {"name": "b", "tier": "dedicated"}
    lines = table(bare, CLUSTER).splitlines()
    assert lines[2].split() == ["b", "dedicated"]
    assert lines[2].index("dedicated") == lines[3].index("low_priority")


def test_a_line_is_as_long_as_it_must_be() -> None:
    wide = {**CLUSTER, "name": "n" * 300}
    assert all(len(line) > 300 for line in table(wide).splitlines()[1:])


@pytest.mark.parametrize(
    ("state", "code"), [("Succeeded", "32"), ("Creating", "33"), ("Failed", "31")]
)
def test_a_terminal_shows_states_in_colour(state: str, code: str) -> None:
    drawn = table({**CLUSTER, "provisioning_state": state}, color=True)
    assert f"\x1b[{code}m{state}\x1b[0m" in drawn
    assert drawn.startswith("\x1b[1mName")


def test_colour_moves_no_column() -> None:
    plain, drawn = table(CLUSTER), table(CLUSTER, color=True)
    assert re.sub(r"\x1b\[\d+m", "", drawn) == plain


def test_a_word_that_only_holds_a_state_is_left_alone() -> None:
    assert "\x1b[31m" not in table({**CLUSTER, "name": "Failed-before"}, color=True)


def test_every_kind_has_its_columns() -> None:
    assert all(kind.az.columns["Name"] == ("name",) for kind in KINDS.values())


def test_one_resource_is_a_table_of_one_row() -> None:
    assert len(resources.rows(CLUSTER, KINDS["compute"].az.columns)) == 1
