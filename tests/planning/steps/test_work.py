"""A plan as single writes: which there are, and which waits for which."""

from __future__ import annotations

import pytest

from mlctl import pointer
from mlctl.config.graph import Graph
from mlctl.kinds.address import Address
from mlctl.kinds.facts import QuotaRefusal
from mlctl.kinds.resource import Resource
from mlctl.planning.model import Plan
from mlctl.planning.steps.work import PlanStep, StepRole, Work, work
from tests.builders.plans import Planned, actions, applied, carried_out, fields, planned, writes
from tests.builders.resources import compute, declared, deployment, endpoint, model
from tests.builders.workspace import SCOPE, cloud

CODE = {"code": "azureml:c0de:1", "scoring_script": "score.py"}
OTHER_SCRIPT = {**CODE, "scoring_script": "other.py"}
HEART = (compute(), model(), endpoint(default="blue"), deployment())


def moving(before: tuple[Resource, ...], *after: Resource) -> Planned:
    """The plan from one state to another."""
    backend = cloud()
    code = {"properties": {"codeUri": "https://example.org/code"}}
    backend.put(Address("code", "c0de", None, "1"), code).wait()
    if before:
        applied(backend, *before)
    return planned(backend, *after)


def told(made: Work) -> list[str]:
    """What every step does, in their order."""
    return [f"{step.role.value} {step.target}" for step in made.steps]


def needs(made: Work, doing: str) -> set[str]:
    """What a step waits for, in the end."""
    by_id = {step.id: step for step in made.steps}
    (start,) = (step for step in made.steps if f"{step.role.value} {step.target}" == doing)
    found: dict[int, PlanStep] = {}
    queue = list(start.needs)
    while queue:
        step = by_id[queue.pop()]
        if step.id not in found:
            found[step.id] = step
            queue += step.needs
    return {f"{step.role.value} {step.target}" for step in found.values()}


def default(step: PlanStep) -> str | None:
    found = pointer.get(step.body, ("properties", "defaults", "deploymentName"))
    return None if found is None else str(found)


def test_a_deployment_waits_for_all_that_it_names() -> None:
    made = moving((), *HEART).work
    assert needs(made, "create batch-deployment/heart-batch/blue") == {
        "create compute/cpu-cluster",
        "create model/heart:1",
        "create batch-endpoint/heart-batch",
    }


def test_a_default_deployment_that_is_yet_to_be_made_is_set_last() -> None:
    made = moving((), *HEART).work
    *_, last = made.steps
    first = next(step for step in made.steps if step.target == last.target)
    assert (default(first), default(last), last.role) == (None, "blue", StepRole.SET_DEFAULT)
    assert "create batch-deployment/heart-batch/blue" in needs(
        made, f"{last.role.value} {last.target}"
    )


def test_a_default_deployment_that_exists_is_set_at_once() -> None:
    before = (*HEART, deployment("green"))
    made = moving(before, *HEART[:2], endpoint(default="green"), *before[3:]).work
    assert [(step.role.value, default(step)) for step in made.steps] == [("update", "green")]


def test_a_default_deployment_in_another_case_is_the_same() -> None:
    backend = cloud()
    applied(backend, *HEART, deployment("green", description="old"))
    after = (*HEART[:2], endpoint(default="BLUE"), HEART[3], deployment("green", description="new"))
    assert told(planned(backend, *after).work) == ["update batch-deployment/heart-batch/green"]


def test_a_deployment_is_deleted_once_its_endpoint_has_another_default() -> None:
    green = deployment("green")
    before = (*HEART[:3], deployment(code_configuration=CODE), green)
    anew = deployment(code_configuration=OTHER_SCRIPT)
    made = moving(before, *HEART[:2], endpoint(default="green"), anew, green).work
    assert needs(made, "delete batch-deployment/heart-batch/blue") == {
        "update batch-endpoint/heart-batch"
    }


def test_a_default_that_moves_to_a_new_deployment_keeps_the_old_one_until_then() -> None:
    after = (*HEART[:2], endpoint(default="green", tags={"a": "1"}), HEART[3], deployment("green"))
    made = moving(HEART, *after).work
    assert [(step.role.value, default(step)) for step in made.steps if step.target.up is None] == [
        ("update", "blue"),
        ("set-default", "green"),
    ]


def test_a_default_deployment_that_is_made_anew_is_unset_meanwhile() -> None:
    before = (*HEART[:3], deployment(code_configuration=CODE))
    made = moving(before, *HEART[:3], deployment(code_configuration=OTHER_SCRIPT)).work
    assert told(made) == [
        "unset-default batch-endpoint/heart-batch",
        "delete batch-deployment/heart-batch/blue",
        "create batch-deployment/heart-batch/blue",
        "set-default batch-endpoint/heart-batch",
    ]
    assert [default(step) for step in made.steps] == [None, None, None, "blue"]


def test_an_endpoint_that_no_file_declares_gets_its_default_back() -> None:
    before = (*HEART[:3], deployment(code_configuration=CODE))
    made = moving(before, *HEART[:2], deployment(code_configuration=OTHER_SCRIPT)).work
    assert [default(step) for step in made.steps] == [None, None, None, "blue"]


def test_an_endpoint_whose_file_says_no_default_gets_its_default_back() -> None:
    before = (*HEART[:3], deployment(code_configuration=CODE))
    after = (*HEART[:2], endpoint(), deployment(code_configuration=OTHER_SCRIPT))
    assert [default(step) for step in moving(before, *after).work.steps][-1] == "blue"


def test_a_default_moves_away_before_its_old_deployment_is_made_anew() -> None:
    green = deployment("green")
    before = (*HEART[:3], deployment(code_configuration=CODE), green)
    anew = deployment(code_configuration=OTHER_SCRIPT)
    made = moving(before, *HEART[:2], endpoint(default="green"), anew, green).work
    assert told(made)[:2] == [
        "update batch-endpoint/heart-batch",
        "delete batch-deployment/heart-batch/blue",
    ]
    assert default(made.steps[0]) == "green"


def test_an_endpoint_that_is_made_anew_takes_its_deployments_with_it() -> None:
    made = moving(HEART, *HEART[:2], endpoint(default="blue", location="westus2"), HEART[3]).work
    assert told(made) == [
        "delete batch-endpoint/heart-batch",
        "create batch-endpoint/heart-batch",
        "delete batch-deployment/heart-batch/blue",
        "create batch-deployment/heart-batch/blue",
        "set-default batch-endpoint/heart-batch",
    ]
    assert [step.subsumed for step in made.steps] == [False, False, True, False, False]


def test_a_cluster_is_made_anew_beneath_what_stands_on_it() -> None:
    made = moving(HEART, compute(size="Standard_D4s_v3"), *HEART[1:]).work
    assert told(made) == ["delete compute/cpu-cluster", "create compute/cpu-cluster"]


def test_a_deployment_moves_to_another_cluster_once_it_is_there() -> None:
    after = (compute(size="Standard_D4s_v3"), compute("other"), *HEART[1:3])
    made = moving(HEART, *after, deployment(compute="other")).work
    assert "create compute/other" in needs(made, "update batch-deployment/heart-batch/blue")


def test_destroying_goes_from_the_top_down() -> None:
    backend = cloud()
    applied(backend, *HEART)
    made = planned(backend, *HEART, destroying=True).work
    assert set(told(made)[:2]) == {
        "delete batch-endpoint/heart-batch",
        "delete batch-deployment/heart-batch/blue",
    }
    for below in ("compute/cpu-cluster", "model/heart:1"):
        assert "delete batch-deployment/heart-batch/blue" in needs(made, f"delete {below}")


def test_destroying_waits_for_what_uses_it_today_whatever_the_files_say() -> None:
    backend = cloud()
    other = compute("other")
    applied(backend, *HEART, other)
    made = planned(backend, *HEART[:3], other, deployment(compute="other"), destroying=True).work
    assert needs(made, "delete compute/other") == set()
    assert needs(made, "delete compute/cpu-cluster") != set()


def test_a_cluster_grows_after_others_have_shrunk_where_the_quota_is_tight() -> None:
    backend = cloud(refuses=QuotaRefusal.MAX)
    backend.set_quota(low_priority=40)
    small, big = ({"tier": "low_priority", "max_instances": nodes} for nodes in (2, 8))
    applied(backend, compute("a-cluster", **small), compute("b-cluster", **big))
    made = planned(backend, compute("a-cluster", **big), compute("b-cluster", **small))
    assert needs(made.work, "update compute/a-cluster") == {"update compute/b-cluster"}


def test_clusters_do_not_wait_for_each_other_where_there_is_room() -> None:
    backend = cloud()
    applied(backend, compute("a-cluster", max_instances=2), compute("b-cluster", max_instances=8))
    after = compute("a-cluster", max_instances=8), compute("b-cluster", max_instances=2)
    assert [step.needs for step in planned(backend, *after).work.steps] == [(), ()]


def test_two_clusters_that_swap_their_quotas_are_both_deleted_first() -> None:
    backend = cloud()
    backend.set_quota(low_priority=40, dedicated=40)
    spot, firm = compute("a-cluster", tier="low_priority"), compute("b-cluster")
    swapped = (
        compute("a-cluster", max_instances=10),
        compute("b-cluster", tier="low_priority", max_instances=10),
    )
    applied(backend, spot, firm)
    made = planned(backend, *swapped)
    assert made.plan.rejections == ()
    assert [step.role.value for step in made.work.steps[:2]] == ["delete", "delete"]
    applied(backend, *swapped)


def test_versions_of_one_asset_are_made_in_their_order() -> None:
    versions = [model(version=version) for version in ("10", "9", "beta")]
    made = moving((), *versions).work
    assert [step.target.version for step in made.steps] == ["beta", "9", "10"]
    assert needs(made, "create model/heart:10") == {
        "create model/heart:9",
        "create model/heart:beta",
    }


def test_what_somebody_has_begun_is_waited_for_by_what_needs_it() -> None:
    backend = cloud()
    applied(backend, *HEART[1:2])
    for resource in (HEART[0], endpoint()):
        (step,) = planned(backend, resource).work.steps
        backend.put(step.target, step.body)  # and the process ends
    made = planned(backend, *HEART[:2], endpoint(), HEART[3])
    assert told(made.work) == [
        "wait compute/cpu-cluster",
        "wait batch-endpoint/heart-batch",
        "create batch-deployment/heart-batch/blue",
    ]
    events = carried_out(made.work, backend)
    assert [event.state.value for event in events if event.error] == []
    assert writes(events) == ["create batch-deployment/heart-batch/blue"]


def test_every_step_comes_after_those_that_it_needs() -> None:
    steps = moving(HEART, compute(size="Standard_D4s_v3"), *HEART[1:]).work.steps
    assert [step.id for step in steps] == list(range(len(steps)))
    assert all(need < step.id for step in steps for need in step.needs)


def test_a_replacement_carries_over_what_the_file_leaves_to_the_service() -> None:
    backend = cloud()
    applied(backend, compute(description="by hand", tags={"team": "ds"}))
    *_, created = planned(backend, compute(size="Standard_D4s_v3")).work.steps
    body = created.body_over(None)
    assert body["tags"] == {"team": "ds"}
    assert body["properties"]["description"] == "by hand"


def test_a_replacement_drops_an_account_whose_password_only_the_old_cluster_knew() -> None:
    backend = cloud()
    account = {"admin_username": "azureuser", "admin_password": "s3cr3t!"}
    applied(backend, compute(ssh_settings=account))
    *_, created = planned(backend, compute(size="Standard_D4s_v3")).work.steps
    body = created.body_over(None)
    assert "userAccountCredentials" not in body["properties"]["properties"]
    applied(backend, compute(size="Standard_D4s_v3"))


def test_a_replacement_keeps_an_account_whose_key_is_known() -> None:
    backend = cloud()
    account = {"admin_username": "azureuser", "ssh_key_value": "ssh-rsa AAAA me"}
    applied(backend, compute(ssh_settings=account))
    *_, created = planned(backend, compute(size="Standard_D4s_v3")).work.steps
    assert created.body_over(None)["properties"]["properties"]["userAccountCredentials"] == {
        "adminUserName": "azureuser",
        "adminUserSshPublicKey": "ssh-rsa AAAA me",
    }


def test_another_public_key_replaces_the_cluster_and_another_password_is_not_seen() -> None:
    backend = cloud()
    account = {
        "admin_username": "azureuser",
        "ssh_key_value": "ssh-rsa AAAA",
        "admin_password": "s",
    }
    applied(backend, compute(ssh_settings=account))
    same = planned(backend, compute(ssh_settings={**account, "admin_password": "other"})).plan
    assert actions(same) == {}
    other = planned(backend, compute(ssh_settings={**account, "ssh_key_value": "ssh-rsa BB"})).plan
    assert actions(other) == {"compute/cpu-cluster": "replace"}
    assert fields(other) == {"compute/cpu-cluster": ["ssh_settings.ssh_key_value"]}


def test_a_change_in_place_leaves_an_account_alone_that_the_file_does_not_name() -> None:
    backend = cloud()
    account = {"admin_username": "azureuser", "admin_password": "s3cr3t!"}
    applied(backend, compute(ssh_settings=account))
    (only,) = planned(backend, compute(max_instances=3)).work.steps
    live = backend.read([only.target])[only.target].body
    kept = only.body_over(live)["properties"]["properties"]["userAccountCredentials"]
    assert kept == {"adminUserName": "azureuser"}
    applied(backend, compute(max_instances=3))


def test_a_step_knows_where_its_secrets_stand_and_whose_they_are() -> None:
    account = {"admin_username": "azureuser", "admin_password": "s3cr3t!"}
    data = {"name": "cpu-cluster", "type": "amlcompute", "ssh_settings": account}
    (step,) = planned(cloud(), declared("compute", data, "ssh.yml")).work.steps
    (secret,) = step.secrets
    assert (secret.file, secret.at) == ("ssh.yml", ("ssh_settings", "admin_password"))
    assert pointer.get(step.body, secret.wire) == "s3cr3t!"


def test_an_inline_asset_is_anonymous_on_the_wire() -> None:
    made = moving((), *HEART[:3], deployment(environment={"image": "ubuntu:22.04"})).work
    (asset,) = (step for step in made.steps if step.target.kind == "environment")
    assert asset.body["properties"]["isAnonymous"] is True
    (user,) = (step for step in made.steps if step.target.kind == "batch-deployment")
    assert user.body["properties"]["environmentId"] == asset.target.id(SCOPE)


def test_an_inline_asset_with_a_name_is_not_anonymous_on_the_wire() -> None:
    named = deployment(environment={"name": "torch", "image": "ubuntu:22.04"})
    made = moving((), *HEART[:3], named).work
    (asset,) = (step for step in made.steps if step.target.kind == "environment")
    assert "isAnonymous" not in asset.body["properties"]


@pytest.mark.parametrize("after", [HEART, HEART[::-1]], ids=["in order", "upside down"])
def test_nothing_to_do_is_no_step(after: tuple[Resource, ...]) -> None:
    assert moving(HEART, *after).work.steps == ()


def test_an_empty_plan_is_no_work() -> None:
    assert work(Plan("local", SCOPE, (), {}), Graph({}, ())).steps == ()
