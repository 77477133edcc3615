"""What the local backend refuses, and what it forgives."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.kinds.address import Address, Scope
from mlctl.service_errors import NotFound, Transient
from mlctl.simulator.control_plane import control
from mlctl.simulator.control_plane.state import rows
from mlctl.simulator.control_plane.state.settings import (
    CloudSettings,
    ImmutablePolicy,
    InUsePolicy,
)
from tests.builders.bodies import (
    BLUE,
    CPU,
    ENDPOINT,
    MODEL,
    OTHER,
    SUBNET,
    cluster,
    deployment,
    endpoint,
    model,
    stage,
)
from tests.builders.simulated import finish_operations, inner, live, refused
from tests.builders.workspace import SCOPE, strict


def test_an_unspecified_port_is_settled_by_the_subnet(local: LocalBackend) -> None:
    subnet = {"id": "/subscriptions/s/resourcegroups/r/virtualNetworks/v/subnets/d"}
    local.put(CPU, cluster(remoteLoginPortPublicAccess="NotSpecified", subnet=subnet)).wait()
    inner = live(local, CPU).body["properties"]["properties"]
    assert inner["remoteLoginPortPublicAccess"] == "Disabled"
    local.put(CPU, cluster(remoteLoginPortPublicAccess="NotSpecified")).wait()
    assert live(local, CPU).body["properties"]["properties"] == inner


def test_a_lost_subnet_is_no_change(local: LocalBackend) -> None:
    subnet = {"id": "/subscriptions/s/resourcegroups/r/virtualNetworks/v/subnets/d"}
    local.put(CPU, cluster(subnet=subnet)).wait()
    local.put(CPU, cluster(subnet={})).wait()
    assert "resourceGroups" in live(local, CPU).body["properties"]["properties"]["subnet"]["id"]


def test_a_new_cluster_with_a_user_needs_a_password_or_a_key(local: LocalBackend) -> None:
    account = {"adminUserName": "azureuser"}
    assert "adminUserPassword" in str(
        refused(local.put, CPU, cluster(userAccountCredentials=account))
    )


def test_changed_immutables_can_be_set_to_be_ignored(local: LocalBackend) -> None:
    local.put(CPU, cluster()).wait()
    control.configure(local.handle, CloudSettings(immutable=ImmutablePolicy.IGNORE))
    local.put(CPU, cluster(3, "LowPriority")).wait()
    inner = live(local, CPU).body["properties"]["properties"]
    assert (inner["vmPriority"], inner["scaleSettings"]["maxNodeCount"]) == ("Dedicated", 3)


def test_what_a_deployment_names_can_be_set_to_stay(local: LocalBackend) -> None:
    stage(local)
    control.configure(local.handle, CloudSettings(in_use=InUsePolicy.REFUSE))
    error = refused(local.delete, CPU)
    assert (error.code, "blue" in error.message) == ("ComputeInUse", True)
    assert refused(local.delete, MODEL).code == "ModelInUse"
    control.configure(local.handle, CloudSettings(in_use=InUsePolicy.ALLOW))
    local.delete(CPU).wait()


def test_a_dependant_that_is_being_deleted_does_not_hold_anything(local: LocalBackend) -> None:
    stage(local)
    control.configure(local.handle, CloudSettings(in_use=InUsePolicy.REFUSE))
    local.delete(BLUE)
    local.delete(CPU)
    finish_operations(local)
    assert local.read([CPU, BLUE]) == {}


def test_a_retired_size_is_refused_with_its_date(local: LocalBackend) -> None:
    error = refused(local.put, CPU, cluster(vmSize="Standard_NC6"))
    assert "2023-08-31" in error.message


def test_a_size_younger_than_the_catalog_is_known_by_its_name(local: LocalBackend) -> None:
    local.put(CPU, cluster(2, vmSize="Standard_E16-4ads_v7")).wait()
    used = {pool.name: pool.used for pool in control.quotas(local.handle, local.location)}
    assert (used["standardEADSv7Family"], used["total"]) == (32, 32)


@pytest.mark.parametrize("name", ["1st", "a", "a_b", "x" * 33, "ends-", "ümlaut"])
def test_bad_names_are_refused(local: LocalBackend, name: str) -> None:
    assert refused(local.put, Address("compute", name), cluster()).status == 400
    assert refused(local.put, Address("batch-endpoint", name), {}).status == 400


def test_low_priority_is_one_number_for_all_families(local: LocalBackend) -> None:
    strict(local)
    local.set_quota(low_priority=24)
    local.put(CPU, cluster(4, "LowPriority")).wait()
    small = cluster(2, "LowPriority", vmSize="Standard_F8s_v2")
    error = refused(local.put, OTHER, small)
    assert (error.code, "16" in error.message) == ("ClusterCoreQuotaReached", True)
    local.put(OTHER, cluster(1, "LowPriority", vmSize="Standard_F8s_v2")).wait()


def test_dedicated_cores_are_limited_by_family_and_in_total(local: LocalBackend) -> None:
    strict(local)
    local.set_quota(dedicated=40, families={"STANDARDdsv2family": 16})
    assert "standardDSv2Family" in str(refused(local.put, CPU, cluster(5)))
    local.put(CPU, cluster(4)).wait()
    error = refused(local.put, OTHER, cluster(4, vmSize="Standard_F8s_v2"))
    assert "total regional" in error.message


def test_nodes_that_must_run_are_refused_by_their_own_code(local: LocalBackend) -> None:
    local.set_quota(families={"standardDSv2Family": 6})
    error = refused(local.put, CPU, cluster(2, least=2))
    assert (error.code, "8 vCPUs" in error.message) == ("ClusterMinNodesExceedCoreQuota", True)


def test_gpu_families_have_as_many_cores_as_the_setting_says(local: LocalBackend) -> None:
    gpu = "Standard_NC4as_T4_v3"
    local.put(CPU, cluster(1, vmSize=gpu)).wait()
    local.delete(CPU).wait()
    control.configure(local.handle, CloudSettings(gpu_family_cores=0))
    assert "quota of 0" in str(refused(local.put, CPU, cluster(1, vmSize=gpu)))
    local.put(OTHER, cluster(1, "LowPriority", vmSize=gpu)).wait()


def test_a_cluster_may_shrink_though_the_quota_was_cut(local: LocalBackend) -> None:
    strict(local)
    local.put(CPU, cluster(8)).wait()
    local.set_quota(families={"standardDSv2Family": 8})
    assert "quota of 8" in str(refused(local.put, CPU, cluster(9)))
    local.put(CPU, cluster(4)).wait()


def test_a_deleted_cluster_gives_its_cores_back_when_it_is_gone(local: LocalBackend) -> None:
    local.put(CPU, cluster(2)).wait()
    deleting = local.delete(CPU)
    assert {pool.name: pool.used for pool in control.quotas(local.handle, local.location)}[
        "total"
    ] == 8
    deleting.wait()
    assert {pool.used for pool in control.quotas(local.handle, local.location)} == {0}


def test_quotas_are_of_a_region(local: LocalBackend) -> None:
    local.set_quota("westus", dedicated=0)
    local.put(CPU, cluster()).wait()
    west = cluster() | {"location": "West US"}
    error = refused(local.put, Address("compute", "west"), west)
    assert error.code == "ClusterMinNodesExceedCoreQuota"


def test_the_number_of_computes_is_limited(local: LocalBackend) -> None:
    local.set_quota(computes=1)
    local.put(CPU, cluster(0)).wait()
    assert refused(local.put, OTHER, cluster(0)).code == "QuotaExceeded"


def test_an_endpoint_has_twenty_deployments_at_most(local: LocalBackend) -> None:
    stage(local)
    body = deployment()
    for n in range(19):
        local.put(Address("batch-deployment", f"green-{n}", "heart-batch"), body).wait()
    last = Address("batch-deployment", "one-more", "heart-batch")
    assert refused(local.put, last, body).code == "QuotaExceeded"


def test_a_negative_quota_is_an_error(local: LocalBackend) -> None:
    with pytest.raises(ValueError, match="between 0"):
        local.set_quota(low_priority=-1)


def test_names_are_unique_in_a_region_of_a_subscription(local: LocalBackend) -> None:
    local.within(Scope("sub", "rg", "ws")).put(CPU, cluster()).wait()
    beside = local.within(Scope("SUB", "rg", "other"))
    assert beside.taken({CPU: "eastus"}) == {CPU: "workspace `rg/ws` has it"}
    error = refused(beside.put, CPU, cluster())
    assert (error.code, error.status) == ("NameAlreadyTaken", 409)
    assert beside.taken({CPU: "westus"}) == beside.taken({CPU: "brazilsouth"}) == {}
    beside.put(CPU, cluster() | {"location": "westus"}).wait()


def test_subscriptions_share_nothing(local: LocalBackend) -> None:
    local.set_quota(dedicated=8)
    local.put(CPU, cluster(2)).wait()
    elsewhere = local.within(Scope("sub2", "rg", "ws"))
    elsewhere.put(CPU, cluster(4)).wait()
    assert elsewhere.taken({CPU: "eastus"}) == {}


def test_workspaces_of_one_subscription_share_its_quota(local: LocalBackend) -> None:
    strict(local)
    local.set_quota(dedicated=12)
    local.put(CPU, cluster(2)).wait()
    beside = local.within(Scope(SCOPE.subscription, "rg", "other"))
    error = refused(beside.put, OTHER, cluster(2))
    assert error.code == "ClusterCoreQuotaReached"


def test_nothing_beneath_an_endpoint_may_be_in_motion_when_it_goes(local: LocalBackend) -> None:
    stage(local)
    local.put(BLUE, deployment(miniBatchSize=5))
    error = refused(local.delete, ENDPOINT)
    assert (type(error), "blue" in error.message) == (Transient, True)


def test_a_cluster_that_a_deployment_left_may_go(local: LocalBackend) -> None:
    stage(local)
    control.configure(local.handle, CloudSettings(in_use=InUsePolicy.REFUSE))
    local.put(OTHER, cluster()).wait()
    local.put(BLUE, deployment(compute=OTHER.id(SCOPE))).wait()
    local.delete(CPU).wait()
    assert refused(local.delete, OTHER).code == "ComputeInUse"


def test_a_workspace_that_somebody_makes_meanwhile_is_still_the_own_one(
    local: LocalBackend,
) -> None:
    with local.handle.store.read() as db:
        before = local.handle.state(db)
    assert before.id == rows.NO_WORKSPACE
    local.put(CPU, cluster()).wait()
    elsewhere = replace(before, scope=replace(SCOPE, workspace="another"))
    with local.handle.store.read() as db:
        assert rows.name_owners(db, before, {CPU: "eastus"}) == {}
        owners = rows.name_owners(db, elsewhere, {CPU: "eastus"})
    assert owners == {CPU: f"{SCOPE.resource_group}/{SCOPE.workspace}"}


def test_what_is_going_cannot_be_named(local: LocalBackend) -> None:
    stage(local)
    local.delete(BLUE)
    assert "blue" in str(
        refused(local.put, ENDPOINT, endpoint(defaults={"deploymentName": "blue"}))
    )
    finish_operations(local)
    local.delete(CPU)
    assert isinstance(refused(local.put, BLUE, deployment()), NotFound)


def test_the_script_of_a_deployment_is_written_over(local: LocalBackend) -> None:
    stage(local)
    configured = {"scoringScript": "score.py"}
    local.put(BLUE, deployment()).wait()
    local.put(BLUE, deployment(codeConfiguration=configured)).wait()
    after = {"scoringScript": "other.py"}
    local.put(BLUE, deployment(codeConfiguration=after)).wait()
    assert local.read([BLUE])[BLUE].body["properties"]["codeConfiguration"] == after


def test_free_properties_are_added_and_neither_altered_nor_removed(local: LocalBackend) -> None:
    local.put(ENDPOINT, endpoint(properties={"a": "1"})).wait()
    assert "`a`" in str(refused(local.put, ENDPOINT, endpoint(properties={"a": "2"})))
    local.put(ENDPOINT, endpoint(properties={"b": "3"})).wait()
    assert {"a": "1", "b": "3"}.items() <= inner(local, ENDPOINT).items()


def test_altered_free_properties_stay_where_changes_are_ignored(local: LocalBackend) -> None:
    control.configure(local.handle, CloudSettings(immutable=ImmutablePolicy.IGNORE))
    local.put(ENDPOINT, endpoint(properties={"a": "1"})).wait()
    local.put(ENDPOINT, endpoint(properties={"a": "2", "azureml.onlineendpointid": "x"})).wait()
    assert inner(local, ENDPOINT)["a"] == "1"
    assert inner(local, ENDPOINT)["azureml.onlineendpointid"] == ENDPOINT.id(SCOPE)


def test_the_id_of_a_subnet_is_the_same_in_any_case(local: LocalBackend) -> None:
    local.put(CPU, cluster(subnet=SUBNET)).wait()
    before = inner(local, CPU)["subnet"]
    local.put(CPU, cluster(subnet={"id": SUBNET["id"].upper()})).wait()
    assert inner(local, CPU)["subnet"] == before


def test_one_is_not_true(local: LocalBackend) -> None:
    local.put(CPU, cluster(enableNodePublicIp=True)).wait()
    assert refused(local.put, CPU, cluster(enableNodePublicIp=1)).status == 400


def test_fewer_nodes_at_most_than_at_least_are_refused(local: LocalBackend) -> None:
    assert "must not be larger" in str(refused(local.put, CPU, cluster(1, least=2)))


def test_an_empty_tag_is_refused_by_batch_endpoints_alone(local: LocalBackend) -> None:
    tags = {"tags": {"b": "", "a": "1"}}
    local.put(CPU, cluster() | tags).wait()
    error = refused(local.put, ENDPOINT, endpoint() | tags)
    assert "Tags.Values[1] must not be null or empty" in str(error)


def test_an_asset_without_content_is_refused(local: LocalBackend) -> None:
    assert "modelUri" in str(refused(local.put, MODEL, {"properties": {}}))
    assert refused(local.put, MODEL.at(None), model()).status == 400


def test_a_model_named_without_a_version_is_pinned_to_the_newest(local: LocalBackend) -> None:
    stage(local)
    local.put(MODEL.at("7"), model()).wait()
    local.put(MODEL.at("3"), model()).wait()
    local.put(BLUE, deployment(model={"assetId": "azureml:heart@latest"})).wait()
    pinned = live(local, BLUE).body["properties"]["model"]["assetId"]
    assert pinned == MODEL.at("3").id(SCOPE)


def test_an_asset_of_another_workspace_is_looked_for_there(local: LocalBackend) -> None:
    stage(local)
    beside = Scope(SCOPE.subscription, "rg", "beside")
    foreign = deployment(model={"assetId": MODEL.id(beside)})
    assert "beside" in str(refused(local.put, BLUE, foreign))
    local.within(beside).put(MODEL, model()).wait()
    local.put(BLUE, foreign).wait()
    assert live(local, BLUE).body["properties"]["model"]["assetId"] == MODEL.id(beside)


def test_a_deployment_needs_a_model_or_a_configuration(local: LocalBackend) -> None:
    stage(local)
    error = refused(local.put, BLUE, {"properties": {"compute": CPU.id(SCOPE)}})
    assert (error.code, error.status, error.inner[0]) == ("UserError", 400, "BadArgument")
    (reason,) = json.loads(error.message.partition("Errors:\n")[2])
    assert reason["PropertyName"] == "ModelConfiguration.ModelReference"


def test_a_deployment_of_a_pipeline_needs_a_component(local: LocalBackend) -> None:
    stage(local)
    configured = {"deploymentConfigurationType": "PipelineComponent", "componentId": None}
    error = refused(local.put, BLUE, {"properties": {"deploymentConfiguration": configured}})
    assert (error.code, error.status) == ("UserError", 400)
    assert "DeploymentConfiguration.ComponentId" in error.message


def test_an_environment_that_the_service_brings_along_is_taken_as_it_is_named(
    local: LocalBackend,
) -> None:
    stage(local)
    named = "azureml:AzureML-sklearn-1.0-ubuntu20.04-py38-cpu:33"
    local.put(BLUE, deployment(environmentId=named)).wait()
    assert live(local, BLUE).body["properties"]["environmentId"] == named
    error = refused(local.put, BLUE, deployment(environmentId="azureml:sklearn:33"))
    assert error.code == "EnvironmentNotFound"
