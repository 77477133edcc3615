"""From a Batch Pool to the cluster that takes its place."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl import source
from mlctl.cli.files.convert import cluster_names, cluster_of
from tests.builders.findings import check, codes
from tests.builders.plans import actions, applied, planned
from tests.builders.resources import declared, pool
from tests.builders.workspace import cloud


def cluster(name: str = "scoring-pool", **values: Any) -> dict[str, Any]:
    """What is made of a pool, as data."""
    made = source.plain(cluster_of(pool(name, **values), next(cluster_names([name]))))
    assert isinstance(made, dict)
    return made


def test_a_cluster_has_as_many_dedicated_nodes_as_the_pool_had_vms() -> None:
    made = cluster(vms=7)
    assert (made["tier"], made["min_instances"], made["max_instances"]) == ("dedicated", 7, 7)


def test_a_pool_without_vms_is_a_cluster_that_is_empty_while_idle() -> None:
    made = cluster(vms=0)
    assert (made["min_instances"], made["max_instances"]) == (0, 1)


def test_what_the_pool_was_for_is_kept_and_tags_are_text() -> None:
    made = cluster(description="nightly: # all", tags={"n": 1, "on": True, "team": "ds"})
    assert made["description"] == "nightly: # all"
    assert made["tags"] == {"n": "1", "on": "true", "team": "ds"}


def test_the_size_is_the_users_to_choose() -> None:
    assert "size: Standard_F4s_v2\n" in cluster_of(pool(), "scoring-pool", "Standard_F4s_v2")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("scoring-pool", "scoring-pool"),
        ("pool-1", "pool1"),
        ("p-1-2", "p12"),
        ("a-1", "a1-pool"),
        ("v2-pool-9", "v2-pool9"),
        ("nightly-scoring-of-the-3-regions", "nightly-scoring-of-the3"),
    ],
)
def test_a_name_that_no_cluster_may_have_is_made_valid_and_the_old_one_said(
    old: str, new: str
) -> None:
    assert list(cluster_names([old])) == [new]
    assert (f"# The pool was `{old}`." in cluster_of(pool(old), new)) == (old != new)


def test_no_two_pools_become_one_cluster() -> None:
    alike = [f"a-very-long-name-of-the-pool-{letter}" for letter in "abc"]
    assert list(cluster_names(alike)) == [
        "a-very-long-name-of-the",
        "a-very-long-name-of-thea",
        "a-very-long-name-of-theb",
    ]


@pytest.mark.parametrize(
    "word",
    ["31 August 2024", "billing plan", "batch endpoint", "min_instances: 0", "quota", "network"],
)
def test_the_comments_say_what_differs(word: str) -> None:
    text = cluster_of(pool(), "scoring-pool")
    comments = " ".join(line.strip("# ") for line in text.splitlines() if line.startswith("#"))
    assert word in comments


def test_what_is_made_can_be_applied_beside_the_pool() -> None:
    backend = cloud()
    made = declared("compute", cluster())
    applied(backend, pool(), made)
    assert actions(planned(backend, pool(), made).plan) == {}


NAMES = st.from_regex(r"[A-Za-z](?:-?[A-Za-z0-9]){2,31}", fullmatch=True).filter(
    lambda name: len(name) <= 32
)
TEXTS = st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), min_size=1, max_size=120)


@given(st.lists(NAMES, min_size=1, max_size=30), st.integers(0, 500), TEXTS)
def test_what_is_made_of_valid_pools_is_valid_without_a_warning(
    pools: list[str], vms: int, text: str
) -> None:
    tags = {"about": text, text: 1}
    made = [
        cluster_of(pool(one, vms, description=text, tags=tags), name)
        for one, name in zip(pools, cluster_names(pools), strict=True)
    ]
    assert codes(check(*made)) == []
