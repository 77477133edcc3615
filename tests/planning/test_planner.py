"""What would change, and why: one sentence each; the laws are in `properties`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mlctl.applying.targets import stale_targets
from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.backend import Live
from mlctl.config import graph
from mlctl.kinds.address import Address
from mlctl.kinds.resource import Resource
from mlctl.planning import planner
from mlctl.planning.model import Action, ActionReason
from mlctl.planning.refresh import refresh
from mlctl.pointer import Data
from mlctl.simulator.control_plane import control
from mlctl.simulator.control_plane.faults import CallFault, FaultKind
from tests.builders.plans import actions, applied, carried_out, codes, fields, planned
from tests.builders.resources import compute, declared, deployment, endpoint, environment, model
from tests.builders.workspace import SCOPE, cloud

HEART = (compute(), model(), endpoint(), deployment())
PIPELINE = "azureml://registries/azureml/components/words/versions/1"


def standing(*resources: Resource) -> LocalBackend:
    """A workspace as declared."""
    backend = cloud()
    applied(backend, *resources)
    return backend


def body(backend: LocalBackend, address: Address) -> dict[str, Data]:
    return dict(backend.read([address])[address].body)


def test_a_changed_number_is_one_change_in_place() -> None:
    made = planned(standing(*HEART), compute(max_instances=5), *HEART[1:]).plan
    (change,) = made.pending
    assert (change.action, change.fields[0].before, change.fields[0].after) == (Action.UPDATE, 2, 5)


def test_a_new_workspace_gets_everything() -> None:
    made = planned(cloud(), *HEART).plan
    assert set(actions(made).values()) == {"create"}
    assert (made.summary.add, made.summary.change, made.summary.destroy) == (4, 0, 0)


def test_changes_are_listed_by_kind_and_then_by_name() -> None:
    made = planned(cloud(), *HEART[::-1], compute("a-cluster")).plan
    assert [str(one.address) for one in made.changes] == [
        "compute/a-cluster",
        "compute/cpu-cluster",
        "batch-endpoint/heart-batch",
        "batch-deployment/heart-batch/blue",
        "model/heart:1",
    ]


def test_a_replacement_is_one_added_and_one_destroyed() -> None:
    made = planned(standing(compute()), compute(tier="low_priority")).plan
    assert actions(made) == {"compute/cpu-cluster": "replace"}
    assert (made.summary.add, made.summary.change, made.summary.destroy) == (1, 0, 1)
    assert made.pending[0].reason == ActionReason.CANNOT_UPDATE


def test_a_tag_that_is_taken_away_is_a_change_of_that_key_alone() -> None:
    backend = standing(compute(tags={"team": "ds", "a.b": "1"}))
    made = planned(backend, compute(tags={"a.b": "1"})).plan
    assert fields(made) == {"compute/cpu-cluster": ["tags.team"]}


def test_what_a_file_does_not_say_is_left_to_whoever_said_it() -> None:
    backend = standing(compute(description="by hand", tags={"team": "ds"}))
    assert planned(backend, compute()).plan.empty


def test_what_a_file_leaves_to_a_default_goes_back_to_it() -> None:
    backend = standing(compute(idle_time_before_scale_down=600))
    (change,) = planned(backend, compute()).plan.pending
    assert [(one.before, one.after) for one in change.fields] == [(600, 120)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"identity": {"type": "none"}}, {}),
        ({}, {"identity": {"type": "none"}}),
        ({"description": ""}, {}),
        ({"tags": {}}, {}),
        ({"network_settings": {}}, {}),
        ({"enable_node_public_ip": True}, {}),
    ],
)
def test_saying_nothing_in_many_words_is_no_change(
    before: dict[str, Data], after: dict[str, Data]
) -> None:
    assert planned(standing(compute(**before)), compute(**after)).plan.empty


def test_an_identity_of_another_type_takes_its_ids_along() -> None:
    uai = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity"
    users = [{"resource_id": f"{uai}/userAssignedIdentities/u"}]
    mine = {"type": "user_assigned", "user_assigned_identities": users}
    backend = standing(compute(identity=mine))
    applied(backend, compute(identity={"type": "system_assigned"}))
    applied(backend, compute(identity=mine))
    applied(backend, compute(identity={"type": "none"}))
    assert "identity" not in body(backend, compute().address)


def test_another_identity_of_a_low_priority_cluster_is_one_change_in_place() -> None:
    group = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity"
    one, two = (f"{group}/userAssignedIdentities/{name}" for name in ("one", "two"))

    def spot(*ids: str) -> Resource:
        users = [{"resource_id": each} for each in ids]
        identity = {"type": "user_assigned", "user_assigned_identities": users}
        return compute(tier="low_priority", identity=identity)

    backend = standing(spot(one))
    made = planned(backend, spot(two, one.upper())).plan
    assert actions(made) == {"compute/cpu-cluster": "update"}
    ((change,),) = (each.fields for each in made.pending)
    assert [each["resource_id"] for each in change.before] == [one.upper()]  # no change of its own
    applied(backend, spot(two, one))
    assert planned(backend, spot(one, two)).plan.empty


def test_a_reference_without_a_version_is_the_newest_and_says_so() -> None:
    backend = standing(model(), model(version="2"))
    made = planned(backend, compute(), endpoint(), deployment(model="azureml:heart@latest")).plan
    (change,) = (one for one in made.pending if one.address.kind == "batch-deployment")
    (field,) = (one for one in change.fields if one.at == ("model",))
    assert (field.after, field.note) == ("azureml:heart:2", "@latest")


def test_a_new_version_in_the_files_is_the_newest_already() -> None:
    backend = standing(*HEART)
    floating = deployment(model="azureml:heart@latest")
    made = planned(backend, compute(), model(), model(version="2"), endpoint(), floating).plan
    assert fields(made)["batch-deployment/heart-batch/blue"] == ["model"]


@pytest.mark.parametrize("order", [("9", "10"), ("10", "9")])
def test_the_newest_version_is_the_greatest_number(order: tuple[str, str]) -> None:
    versions = [model(version=version) for version in order]
    floating = deployment(model="azureml:heart@latest")
    made = planned(cloud(), compute(), *versions, endpoint(), floating).plan
    (change,) = (one for one in made.pending if one.address.kind == "batch-deployment")
    assert change.values["model",] == "azureml:heart:10"


def test_an_older_version_in_the_files_is_not_the_newest() -> None:
    backend = standing(model(version="9"), model(version="10"))
    floating = deployment(model="azureml:heart@latest")
    made = planned(backend, compute(), model(version="9"), endpoint(), floating).plan
    (change,) = (one for one in made.pending if one.address.kind == "batch-deployment")
    assert change.values["model",] == "azureml:heart:10"


def test_a_label_that_the_service_does_not_know_is_missing() -> None:
    made = planned(standing(*HEART), *HEART[:3], deployment(model="azureml:heart@newest")).plan
    assert codes(made) == ["MLC402"]
    assert "heart@newest" in made.rejections[0].message


def test_a_version_left_out_is_the_first_one() -> None:
    assert actions(planned(cloud(), model(version=None)).plan) == {"model/heart:1": "create"}


def test_a_version_left_out_stays_while_the_content_does() -> None:
    backend = standing(model(version=None))
    assert planned(backend, model(version=None)).plan.empty
    retold = planned(backend, model(version=None, description="the same model")).plan
    assert actions(retold) == {"model/heart:1": "update"}


def test_a_version_left_out_is_the_next_one_when_the_content_changes() -> None:
    backend = standing(model(version=None))
    made = planned(backend, model(version=None, path="azureml://jobs/again/model/")).plan
    assert actions(made) == {"model/heart:2": "create"}


def test_a_version_that_is_no_number_is_followed_by_one_that_says_so() -> None:
    backend = standing(environment(version="2024-05"))
    made = planned(backend, environment(version=None, image="ubuntu:24.04")).plan
    assert actions(made) == {"environment/torch:2024-05-2": "create"}


def test_a_version_that_exists_with_other_content_is_refused() -> None:
    made = planned(standing(model()), model(type="mlflow_model")).plan
    assert codes(made) == ["MLC403"]
    assert not made.applyable


def test_a_deployment_may_name_the_version_that_is_yet_to_be_counted() -> None:
    backend, resources = cloud(), (compute(), model(version=None), endpoint(), deployment())
    applied(backend, *resources)
    assert planned(backend, *resources).plan.empty


def test_deployments_of_an_endpoint_that_is_made_anew_are_made_anew() -> None:
    moved = endpoint(location="westus2")
    made = planned(standing(*HEART), *HEART[:2], moved, HEART[3]).plan
    (blue,) = (one for one in made.pending if one.address.kind == "batch-deployment")
    assert (blue.action, blue.reason) == (Action.REPLACE, ActionReason.PARENT_REPLACED)
    assert blue.because == moved.address


def test_deployments_on_a_cluster_that_is_made_anew_stay() -> None:
    made = planned(standing(*HEART), compute(tier="low_priority"), *HEART[1:]).plan
    assert [one.address.kind for one in made.pending] == ["compute"]
    assert made.pending[0].action is Action.REPLACE


def test_a_cluster_that_others_use_whom_no_file_declares_can_be_made_anew() -> None:
    made = planned(standing(*HEART), compute(tier="low_priority")).plan
    assert codes(made) == []


def test_a_model_inline_is_the_one_in_use_when_that_has_the_same_content() -> None:
    named = model(name="made-by-hand", version="7", type="mlflow_model")
    backend = standing(compute(), named, endpoint(), deployment(model="azureml:made-by-hand:7"))
    inline = {"path": named.values["path",], "type": "MLflow_Model"}
    assert planned(backend, *HEART[::2], deployment(model=inline)).plan.empty
    other = planned(backend, *HEART[::2], deployment(model={**inline, "type": "custom_model"})).plan
    assert len(other.pending) == 2


def test_the_name_of_an_inline_model_is_found_without_case() -> None:
    named = model(name="made-by-hand", version="7", type="mlflow_model")
    backend = standing(compute(), named, endpoint(), deployment(model="azureml:made-by-hand:7"))
    inline = {"name": "Made-By-Hand", "path": named.values["path",], "type": "mlflow_model"}
    assert planned(backend, *HEART[::2], deployment(model=inline)).plan.empty


@pytest.mark.parametrize("said", [{"name": "other"}, {"name": "made-by-hand", "version": "8"}])
def test_another_name_or_version_of_an_inline_model_is_another_model(said: dict[str, Data]) -> None:
    named = model(name="made-by-hand", version="7", type="mlflow_model")
    backend = standing(compute(), named, endpoint(), deployment(model="azureml:made-by-hand:7"))
    inline = {**said, "path": named.values["path",], "type": "mlflow_model"}
    made = planned(backend, *HEART[::2], deployment(model=inline)).plan
    assert [one.action for one in made.pending if one.address.kind == "model"] == [Action.CREATE]


def test_a_deployment_that_becomes_a_pipeline_is_made_anew() -> None:
    backend = standing(*HEART)
    named = {"name": "blue", "endpoint_name": "heart-batch"}
    pipeline = declared("batch-deployment", {**named, "type": "pipeline", "component": PIPELINE})
    made = planned(backend, *HEART[:3], pipeline)
    assert actions(made.plan) == {"batch-deployment/heart-batch/blue": "replace"}
    carried_out(made.work, backend)
    assert planned(backend, *HEART[:3], pipeline).plan.empty


def test_a_change_says_which_line_asked_for_it_and_a_default_says_none() -> None:
    backend = standing(compute(idle_time_before_scale_down=600))
    (change,) = planned(backend, compute(max_instances=3)).plan.pending
    asked = {one.at: change.label_of(one) is not None for one in change.fields}
    assert asked == {("max_instances",): True, ("idle_time_before_scale_down",): False}


def test_a_secret_is_in_no_field_of_a_change_of_what_exists() -> None:
    account = {"admin_username": "azureuser", "admin_password": "s3cr3t!"}
    other = {**account, "admin_password": "an0ther!"}
    backend = standing(compute(ssh_settings=account))
    assert planned(backend, compute(ssh_settings=other)).plan.empty
    (created,) = planned(cloud(), compute(ssh_settings=account)).plan.pending
    assert [one.at[-1] for one in created.fields if one.sensitive] == ["admin_password"]


def test_a_target_is_planned_with_all_that_it_needs_and_nothing_else() -> None:
    others = (compute("other"), *HEART)
    made = planned(cloud(), *others, targets=[Address("batch-endpoint", "heart-batch")]).plan
    assert set(actions(made)) == {"batch-endpoint/heart-batch"}
    blue = Address("batch-deployment", "blue", "heart-batch")
    made = planned(cloud(), *others, targets=[blue]).plan
    assert "compute/other" not in actions(made)
    assert len(actions(made)) == 4


def test_destroying_a_target_destroys_all_that_needs_it() -> None:
    backend = standing(*HEART)
    made = planned(backend, *HEART, destroying=True, targets=[compute().address]).plan
    assert set(actions(made)) == {"compute/cpu-cluster", "batch-deployment/heart-batch/blue"}


def test_destroying_an_endpoint_tells_of_deployments_that_no_file_declares() -> None:
    made = planned(standing(*HEART), endpoint(), destroying=True).plan
    assert actions(made) == {
        "batch-endpoint/heart-batch": "delete",
        "batch-deployment/heart-batch/blue": "delete",
    }
    assert made.rejections == ()


def test_destroying_leaves_inline_assets_which_others_may_use() -> None:
    resources = (*HEART[:3], deployment(environment={"image": "ubuntu:22.04"}))
    made = planned(standing(*resources), *resources, destroying=True).plan
    assert "environment" not in {one.address.kind for one in made.changes}


def test_destroying_what_is_not_there_is_nothing_to_do() -> None:
    assert planned(cloud(), *HEART, destroying=True).plan.empty


def test_a_deployment_made_by_another_tool_in_the_other_form_is_no_change() -> None:
    backend = standing(*HEART)
    nested = deployment(type="model", settings={"mini_batch_size": 10}, resources={})
    assert planned(backend, *HEART[:3], nested).plan.empty


def test_what_is_being_deleted_counts_as_gone() -> None:
    backend = standing(compute())
    backend.delete(compute().address)
    assert actions(planned(backend, compute()).plan) == {"compute/cpu-cluster": "create"}


def test_what_failed_is_put_again_although_all_its_values_are_right() -> None:
    backend = standing(compute())
    control.add_fault(backend.handle, CallFault(FaultKind.FAIL_OPERATION, "put", "compute"))
    with pytest.raises(Exception, match="fault"):
        backend.put(compute().address, body(backend, compute().address)).wait()
    assert fields(planned(backend, compute()).plan) == {
        "compute/cpu-cluster": ["provisioning_state"]
    }
    applied(backend, compute())
    assert planned(backend, compute()).plan.empty


@pytest.mark.parametrize("ended", ["Failed", "Canceled"])
def test_what_did_not_succeed_is_put_again(ended: str) -> None:
    built = graph.build([compute()], SCOPE)
    found = refresh(built, standing(compute()))
    (live,) = found.live.values()
    broken = {**live.body, "properties": {**live.body["properties"], "provisioningState": ended}}
    state = replace(found, live={live.address: Live(live.address, broken)})
    made = planner.plan(built, state, backend="local")
    assert fields(made) == {"compute/cpu-cluster": ["provisioning_state"]}


def test_the_plan_remembers_an_older_version_that_a_deployment_names() -> None:
    backend = standing(*HEART)
    changed = model(version=None, path="azureml://jobs/again/model/")
    made = planned(backend, changed, deployment(mini_batch_size=5)).plan
    looked = {str(address): seen is not None for address, seen in made.read.items()}
    assert (looked["model/heart:1"], looked["model/heart:2"]) == (True, False)


def test_deployments_that_go_with_their_endpoint_do_not_make_a_plan_stale() -> None:
    backend = standing(*HEART)
    made = planned(backend, endpoint(), destroying=True)
    assert stale_targets(made.work, backend) == []
    carried_out(made.work, backend)
    assert backend.list("batch-endpoint") == []


def test_the_plan_remembers_what_it_looked_at() -> None:
    made = planned(standing(compute(), model()), endpoint(), deployment()).plan
    looked = {str(address): seen is not None for address, seen in made.read.items()}
    assert looked == {
        "compute/cpu-cluster": True,
        "model/heart:1": True,
        "batch-endpoint/heart-batch": False,
        "batch-deployment/heart-batch/blue": False,
    }
    assert made.scope == SCOPE


def test_the_stage_of_a_model_that_is_archived_already_is_not_compared() -> None:
    backend = standing(model(stage="Production", is_archived=True))
    assert actions(planned(backend, model(stage="Development")).plan) == {}
    restored = model(stage="Development", is_archived=False)
    assert fields(planned(backend, restored).plan) == {"model/heart:1": ["stage", "is_archived"]}
    applied(backend, restored)
    assert actions(planned(backend, restored).plan) == {}
