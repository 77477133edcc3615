"""What a project owns and no longer declares goes, in an order that works; nothing else does."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlctl.backends.local.backend import LocalBackend
from mlctl.kinds.address import Address
from mlctl.kinds.resource import Resource
from mlctl.planning.ownership.owner import Ownership, Prune, owner
from tests.builders.azure import azure, emulated
from tests.builders.generated import Declared, resources, workspace, worlds
from tests.builders.plans import Planned, actions, applied, codes, planned, succeeded, writes
from tests.builders.resources import compute, deployment, endpoint, environment, model
from tests.builders.workspace import SCOPE, bodies, cloud

OURS, OTHERS = Ownership("scoring"), Ownership("others")
HEART = (compute(), model(), endpoint(), deployment())


def pruned(
    backend: LocalBackend, *declared: Resource, limit: int | None = None, elsewhere: str = ""
) -> Planned:
    """The plan of what is declared, with prune."""
    kept = frozenset({Address.parse(elsewhere)} if elsewhere else ())
    return planned(backend, *declared, ownership=OURS, prune=Prune(lambda: kept, limit))


def owned(*declared: Resource) -> LocalBackend:
    """A workspace in which the project made what is declared."""
    backend = cloud()
    applied(backend, *declared, ownership=OURS)
    return backend


def test_what_is_not_declared_any_more_goes_in_the_order_of_what_needs_what() -> None:
    backend = owned(*HEART)
    made = pruned(backend)
    assert set(actions(made.plan).values()) == {"delete"}
    assert made.plan.pruned == 4
    gone = writes(succeeded(made.work, backend))
    assert gone.index("delete batch-endpoint/heart-batch") < gone.index(
        "delete compute/cpu-cluster"
    )
    assert bodies(backend) == {}


def test_what_others_own_or_nobody_does_stays() -> None:
    backend = owned(compute("ours-a"), compute("ours-b"))
    applied(backend, compute("theirs-a"), model(), ownership=OTHERS)
    applied(backend, compute("nobodys-a"), endpoint())
    assert actions(pruned(backend, compute("ours-a")).plan) == {"compute/ours-b": "delete"}
    assert actions(planned(backend, compute("ours-a"), ownership=OURS).plan) == {}


def test_what_another_file_of_the_project_declares_stays() -> None:
    backend = owned(compute("ours-a"), compute("ours-b"))
    made = pruned(backend, compute("ours-a"), elsewhere="compute/OURS-B").plan
    assert actions(made) == {}


def test_versions_of_an_asset_stay_while_its_name_is_declared() -> None:
    backend = owned(model("heart", "1"), model("lung", "1"))
    second = model("heart", "2", path="azureml://jobs/b/outputs/x/")
    applied(backend, second, ownership=OURS)
    assert actions(pruned(backend, second).plan) == {"model/lung:1": "delete"}
    newest = model("heart", None, path="azureml://jobs/b/outputs/x/")
    assert actions(pruned(backend, newest).plan) == {"model/lung:1": "delete"}
    everything = actions(pruned(backend, compute()).plan)
    assert everything == {
        "compute/cpu-cluster": "create",
        **dict.fromkeys(["model/heart:1", "model/heart:2", "model/lung:1"], "delete"),
    }


def test_what_a_deployment_leaves_is_deleted_after_that() -> None:
    backend = owned(*HEART)
    moved = (compute("new-cluster"), *HEART[1:3], deployment(compute="new-cluster"))
    made = pruned(backend, *moved)
    assert made.plan.errors == ()
    done = writes(succeeded(made.work, backend))
    assert done[-1] == "delete compute/cpu-cluster"
    assert actions(pruned(backend, *moved).plan) == {}


def test_an_endpoint_made_anew_loses_the_default_that_is_pruned_with_the_old_one() -> None:
    named = endpoint(default="blue", location="westus2")
    backend = owned(compute(), model(), named, deployment())
    moved = (compute(), model(), endpoint(location="eastus"))
    made = pruned(backend, *moved)
    assert actions(made.plan) == {
        "batch-endpoint/heart-batch": "replace",
        "batch-deployment/heart-batch/blue": "delete",
    }
    succeeded(made.work, backend)
    assert actions(pruned(backend, *moved).plan) == {}


def test_quota_that_a_pruned_cluster_gives_back_too_late_is_not_counted_on() -> None:
    backend = owned(compute(max_instances=2), *HEART[1:])
    backend.set_quota(computes=1)
    moved = (compute("new-cluster"), *HEART[1:3], deployment(compute="new-cluster"))
    assert codes(pruned(backend, *moved).plan) == ["MLC405"]
    alone = owned(compute())
    alone.set_quota(computes=1)
    renamed = pruned(alone, compute("new-cluster"))
    assert codes(renamed.plan) == []
    assert writes(succeeded(renamed.work, alone))[0] == "delete compute/cpu-cluster"


@pytest.mark.parametrize(
    ("left", "code"),
    [
        ((*HEART[1:],), "MLC407"),  # the cluster of a declared deployment
        ((compute(), model(), deployment()), "MLC407"),  # the endpoint of a declared deployment
        ((compute(), model(), endpoint(default="blue")), "MLC408"),  # a default that is declared
        ((compute(), model(), endpoint()), "MLC408"),  # a default that is left as it is
    ],
)
def test_what_is_still_needed_is_not_pruned(left: Sequence[Resource], code: str) -> None:
    backend = owned(*HEART[:2], endpoint(default="blue"), HEART[3])
    assert code in codes(pruned(backend, *left).plan)


def test_an_endpoint_with_somebody_elses_deployment_is_not_pruned() -> None:
    backend = owned(*HEART[:3])
    applied(backend, *HEART[:2], HEART[3], ownership=OTHERS)
    assert codes(pruned(backend, *HEART[:2]).plan) == ["MLC407"]


def test_another_default_lets_the_old_deployment_go() -> None:
    backend = owned(*HEART[:2], endpoint(default="blue"), HEART[3])
    now = (*HEART[:2], endpoint(default="green"), deployment("green"))
    made = pruned(backend, *now)
    assert made.plan.errors == ()
    succeeded(made.work, backend)
    assert actions(pruned(backend, *now).plan) == {}
    assert backend.read([HEART[3].address]) == {}


def test_more_than_the_limit_is_refused() -> None:
    backend = owned(compute("cpu-a"), compute("cpu-b"))
    assert pruned(backend, limit=2).plan.refusals == ()
    (refused,) = pruned(backend, limit=1).plan.refusals
    assert refused.message == "2 resources would be pruned, but `--prune-limit` allows 1"
    assert not pruned(backend, limit=1).plan.applyable


def test_the_same_is_pruned_on_azure() -> None:
    with closing(azure(emulated(), SCOPE).backend) as backend:
        applied(backend, *HEART, environment(), ownership=OURS)
        applied(backend, compute("theirs-a"), ownership=OTHERS)
        made = planned(backend, *HEART[:3], ownership=OURS, prune=Prune())
        assert actions(made.plan) == {
            "batch-deployment/heart-batch/blue": "delete",
            "environment/torch:1": "delete",
        }
        succeeded(made.work, backend)
        assert planned(backend, *HEART[:3], ownership=OURS, prune=Prune()).plan.empty


@pytest.mark.slow
@given(worlds(), worlds(), st.booleans())
@settings(max_examples=20)
def test_pruning_leaves_what_is_declared_and_what_others_own(
    before: list[Declared], after: list[Declared], theirs: bool
) -> None:
    backend = workspace()
    first = planned(backend, *resources(before), ownership=OURS)
    succeeded(first.work, backend)
    if theirs:
        applied(backend, compute("theirs-a"), ownership=OTHERS)
    made = planned(backend, *resources(after), ownership=OURS, prune=Prune())
    gone = [one for one in made.plan.changes if one.action.name == "DELETE"]
    assert all(one.live is not None and owner(one.live) == "scoring" for one in gone)
    if made.plan.applyable:
        succeeded(made.work, backend)
        assert planned(backend, *resources(after), ownership=OURS, prune=Prune()).plan.empty
    assert theirs is ("compute/theirs-a" in bodies(backend))
