"""What came from outside is told from what the file says now, as far as the tag can tell."""

from __future__ import annotations

from mlctl.backends.local.backend import LocalBackend
from mlctl.kinds.resource import Resource
from mlctl.planning.drift import Origin, find_drift
from mlctl.planning.ownership.owner import Ownership
from tests.builders.plans import applied, planned
from tests.builders.resources import compute, deployment, endpoint, environment, model
from tests.builders.workspace import cloud

OURS = Ownership("scoring")


def drift(backend: LocalBackend, *declared: Resource) -> dict[str, dict[str, Origin] | None]:
    """The origins of what differs, by address and field; None for what is missing."""
    found = find_drift(planned(backend, *declared).plan)
    return {
        str(one.address): None
        if one.missing
        else {".".join(map(str, each.field.at)): each.origin for each in one.differences}
        for one in found
    }


def test_what_is_as_declared_has_no_drift() -> None:
    backend = cloud()
    applied(backend, compute(), endpoint(), ownership=OURS)
    assert drift(backend, compute(), endpoint()) == {}


def test_a_change_outside_is_one_where_the_file_is_the_applied_one() -> None:
    backend = cloud()
    applied(backend, endpoint(description="a"), ownership=OURS)
    applied(backend, endpoint(description="b"))
    assert drift(backend, endpoint(description="a")) == {
        "batch-endpoint/heart-batch": {"description": Origin.OUTSIDE}
    }


def test_after_an_edit_of_the_file_the_two_are_not_told_apart() -> None:
    backend = cloud()
    applied(backend, endpoint(description="a"), ownership=OURS)
    edited = endpoint(description="c")
    assert drift(backend, edited) == {"batch-endpoint/heart-batch": {"description": Origin.UNKNOWN}}
    untagged = cloud()
    applied(untagged, endpoint(description="a"))
    assert drift(untagged, edited)["batch-endpoint/heart-batch"] == {"description": Origin.UNKNOWN}


def test_the_scale_of_a_cluster_is_never_blamed_on_others() -> None:
    backend = cloud()
    applied(backend, compute(description="a", max_instances=2), ownership=OURS)
    applied(backend, compute(description="b", max_instances=5))
    assert drift(backend, compute(description="a", max_instances=2)) == {
        "compute/cpu-cluster": {"max_instances": Origin.UNKNOWN, "description": Origin.OUTSIDE}
    }


def test_what_is_gone_is_missing_and_a_new_version_is_no_drift() -> None:
    backend = cloud()
    applied(backend, environment(version=None), ownership=OURS)
    newer = environment(version=None, image="ubuntu:24.04")
    assert drift(backend, newer, compute()) == {"compute/cpu-cluster": None}
    assert drift(cloud(), newer) == {"environment/torch:1": None}


def test_tags_of_mlctl_and_what_is_written_inline_are_no_drift() -> None:
    backend = cloud()
    declared = (compute(tags={"a": "b"}), model(), endpoint())
    inline = deployment(environment={"image": "ubuntu:22.04"})
    applied(backend, *declared, inline, ownership=OURS)
    assert drift(backend, *declared, inline) == {}
    other = deployment(environment={"image": "ubuntu:24.04"})
    changed = drift(backend, *declared, other)
    assert changed.keys() == {"batch-deployment/heart-batch/blue"}
