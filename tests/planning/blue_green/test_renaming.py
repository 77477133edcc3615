"""New names: the next in a row, valid for the kind, and free."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from mlctl.config import graph
from mlctl.kinds.address import Address
from mlctl.planning.blue_green.renaming import find_leftover, mentions, new_address
from mlctl.planning.blue_green.successors import CannotRename
from tests.builders.resources import compute, deployment


def named(resource_name: str, *taken: str, live: Iterable[str] = (), kind: str = "") -> str:
    one = compute(resource_name) if kind == "compute" else deployment(resource_name)
    known = {Address(one.kind.name, name, one.address.parent) for name in taken}
    return new_address(one, known, lambda it: it.name in live).name


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("blue", "blue-2"),
        ("blue-2", "blue-3"),
        ("blue-v1", "blue-v2"),
        ("blue-09", "blue-10"),
        ("a-2-b", "a-2-b-2"),
        ("x" * 31 + "y", "x" * 30 + "-2"),
        ("x" * 29 + "-yz", "x" * 29 + "-2"),
    ],
)
def test_a_deployment_gets_the_next_number(old: str, new: str) -> None:
    assert named(old) == new


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("cpu", "cpu-v2"),
        ("cpu-v2", "cpu-v3"),
        ("a" * 24, "a" * 21 + "-v2"),
        ("gpu-a-v9", "gpu-a-v10"),
    ],
)
def test_the_names_of_clusters_have_a_letter_behind_the_dash(old: str, new: str) -> None:
    assert named(old, kind="compute") == new


def test_what_files_or_the_workspace_have_is_passed_over_whatever_its_case() -> None:
    assert named("blue", "BLUE-2", live=("blue-3",)) == "blue-4"


def test_there_may_be_no_name_left() -> None:
    with pytest.raises(
        CannotRename, match="no valid new name for batch-deployment/heart-batch/blue"
    ):
        named("blue", live=[f"blue-{number}" for number in range(200)])


def test_lines_are_said_that_name_an_old_one_and_no_longer_name() -> None:
    text = "a: azureml:cpu\nb: azureml:cpu-2\nc: [Compute/CPU]\nd: cpu\ne: compute/cpux\n"
    old = Address("compute", "cpu")
    assert list(mentions(text, {old: Address("compute", "cpu-v2")})) == [(1, old), (3, old)]
    blue = Address("batch-deployment", "blue", "e")
    said = "azureml:blue\nbatch-deployment/e/blue: 1\n"
    assert list(mentions(said, {blue: blue})) == [(2, blue)]


def test_what_still_goes_by_an_old_name_is_found() -> None:
    old, new = Address("compute", "cpu-cluster"), Address("compute", "cpu-cluster-v2")
    built = [graph.build(one) for one in ([compute()], [deployment()], [deployment(compute="x")])]
    told = [find_leftover(one, {old: new}) for one in built]
    assert [str(one) if one else None for one in told] == [
        "compute/cpu-cluster cannot become compute/cpu-cluster-v2 here:"
        " another line sets that name",
        "compute/cpu-cluster cannot become compute/cpu-cluster-v2 here:"
        " it would still refer to the old one",
        None,
    ]
