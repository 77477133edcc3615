"""Kinds against the service: what may change in place, and bodies as the real SDK sends them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pytest

from mlctl import pointer
from mlctl.kinds import KINDS, kind_of_schema
from mlctl.kinds.field import Form, Mutability
from mlctl.kinds.records.code import KIND as CODE
from mlctl.kinds.registry import ALL, AT_ENDPOINTS, by_schema, infer
from mlctl.kinds.values import (
    Values,
    complete,
    decode,
    encode,
    encode_fields,
    fingerprint,
    form_of_body,
    overlay,
    overwritten_pointers,
    state,
)
from mlctl.planning.diff import differences
from mlctl.pointer import Data
from tests.builders.resources import compute, declared, deployment, endpoint, environment, model
from tests.builders.workspace import SCOPE

WS = SCOPE.id
# `az ml compute update`: "The 'tags', 'max_instances', 'min_instances',
# 'idle_time_before_scale_down', 'identity_type', and 'user_assigned_identities' properties can be
# updated." REST: of a deployment, codeConfiguration is ["read", "create"]; all else takes a PUT.
# Versions of assets: description, tags, properties, stage (and the archive mark) only.
IN_PLACE = {
    "compute": {
        "tags",
        "max_instances",
        "min_instances",
        "idle_time_before_scale_down",
        "identity.type",
        "identity.user_assigned_identities",
    },
    "model": {"description", "tags", "properties", "stage", "is_archived"},
    "environment": {"description", "tags", "properties", "is_archived"},
}
REPLACE = {
    "batch-endpoint": {"location"},
    "batch-deployment": {"type", "code_configuration.code", "code_configuration.scoring_script"},
}
FORMS = [(kind, form.name) for kind in {**IN_PLACE, **REPLACE} for form in KINDS[kind].forms]


def form_of(kind: str, name: str) -> Form:
    return next(form for form in KINDS[kind].forms if form.name == name)


@pytest.mark.parametrize(("kind", "form"), FORMS)
def test_what_changes_in_place_is_what_the_service_documents(kind: str, form: str) -> None:
    fields = {
        ".".join(map(str, field.at)): field.mutability
        for field in form_of(kind, form).fields
        if field.mutability is not Mutability.READ_ONLY
    }
    in_place = {at for at, how in fields.items() if how is Mutability.IN_PLACE}
    if kind in IN_PLACE:
        assert in_place == IN_PLACE[kind] & fields.keys()
    else:
        assert fields.keys() - in_place == REPLACE[kind] & fields.keys()


def body_of(kind: str, data: dict[str, Data]) -> dict[str, Any]:
    resource = declared(kind, data)
    return encode(complete(resource.values, resource.form), resource.form, SCOPE)


def without(body: dict[str, Any], *texts: str) -> dict[str, Any]:
    """A body without what the SDK sends and mlctl leaves to the service, or the other way round."""
    out = copy.deepcopy(body)
    for text in texts:
        pointer.drop(out, pointer.parse(text))
    return out


# Bodies that azure-ai-ml 1.35.2 sends, captured from its requests. The SDK looks the location up in
# the workspace, says that it leaves the port to the service, and guesses whether local accounts are
# wanted; mlctl leaves all three out.
def test_a_minimal_low_priority_cluster_is_sent_as_the_sdk_sends_it() -> None:
    captured = {
        "location": "eastus2",
        "properties": {
            "computeType": "AmlCompute",
            "disableLocalAuth": True,
            "properties": {
                "vmSize": "STANDARD_DS3_v2",
                "vmPriority": "LowPriority",
                "osType": "Linux",
                "scaleSettings": {
                    "maxNodeCount": 4,
                    "minNodeCount": 0,
                    "nodeIdleTimeBeforeScaleDown": "PT2M",
                },
                "remoteLoginPortPublicAccess": "NotSpecified",
                "enableNodePublicIp": True,
            },
        },
    }
    said = {"name": "low-pri", "type": "amlcompute", "size": "STANDARD_DS3_v2"}
    sent = body_of("compute", {**said, "tier": "low_priority", "max_instances": 4})
    port = "/properties/properties/remoteLoginPortPublicAccess"
    assert sent == without(captured, "/location", port, "/properties/disableLocalAuth")


def test_a_cluster_with_everything_is_sent_as_the_sdk_sends_it() -> None:
    uai = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity"
    subnet = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/vnet1"
    captured = {
        "identity": {
            "type": "UserAssigned",
            "userAssignedIdentities": {f"{uai}/userAssignedIdentities/uai1": {}},
        },
        "tags": {"team": "ds"},
        "properties": {
            "description": "d",
            "disableLocalAuth": False,
            "properties": {
                "userAccountCredentials": {
                    "adminUserName": "azureuser",
                    "adminUserPassword": "s3cr3t!",
                    "adminUserSshPublicKey": "ssh-rsa AAAA",
                },
                "subnet": {"id": f"{subnet}/subnets/default"},
                "remoteLoginPortPublicAccess": "Enabled",
                "enableNodePublicIp": False,
            },
        },
    }
    account = {
        "admin_username": "azureuser",
        "admin_password": "s3cr3t!",
        "ssh_key_value": "ssh-rsa AAAA",
    }
    sent = body_of(
        "compute",
        {
            "name": "everything",
            "type": "amlcompute",
            "description": "d",
            "tags": {"team": "ds"},
            "enable_node_public_ip": False,
            "ssh_public_access_enabled": True,
            "ssh_settings": account,
            "network_settings": {"subnet": f"{subnet}/subnets/default"},
            "identity": {
                "type": "user_assigned",
                "user_assigned_identities": [{"resource_id": f"{uai}/userAssignedIdentities/uai1"}],
            },
        },
    )
    assert holds(sent, without(captured, "/properties/disableLocalAuth"))


def holds(body: Any, part: Any) -> bool:
    """Whether all of `part` is in `body`."""
    if isinstance(part, dict):
        return isinstance(body, dict) and all(
            key in body and holds(body[key], inner) for key, inner in part.items()
        )
    return bool(body == part)


def test_an_endpoint_is_sent_as_the_sdk_sends_it() -> None:
    captured = {
        "location": "eastus2",
        "tags": {"a": "b"},
        "properties": {
            "description": "scoring",
            "authMode": "AADToken",  # the SDK writes `aadToken`; enums compare without case
            "defaults": {"deploymentName": "dep-mlflow"},
        },
    }
    said = {"name": "scores", "description": "scoring", "tags": {"a": "b"}, "location": "eastus2"}
    sent = body_of("batch-endpoint", {**said, "defaults": {"deployment_name": "dep-mlflow"}})
    assert sent == captured


def test_a_model_deployment_is_sent_as_the_sdk_sends_it() -> None:
    captured = {
        "tags": {},
        "properties": {
            "model": {"assetId": f"{WS}/models/heart/versions/3", "referenceType": "Id"},
            "compute": f"{WS}/computes/low-pri-cluster",
            "outputAction": "AppendRow",
            "outputFileName": "predictions.csv",
            "errorThreshold": -1,
            "loggingLevel": "Info",  # the SDK writes `info`
            "miniBatchSize": 5,
            "maxConcurrencyPerInstance": 2,
            "retrySettings": {"maxRetries": 3, "timeout": "PT5M"},
            "resources": {"instanceCount": 2, "properties": {}},
            "environmentVariables": {"A": "1"},
            "properties": {},
        },
    }
    said: dict[str, Data] = {
        "name": "blue",
        "endpoint_name": "scores",
        "type": "model",
        "tags": {},
        "properties": {},
        "model": "azureml:heart:3",
        "compute": "azureml:low-pri-cluster",
        "resources": {"instance_count": 2, "properties": {}},
        "settings": {
            "mini_batch_size": 5,
            "max_concurrency_per_instance": 2,
            "retry_settings": {"timeout": 300},
            "environment_variables": {"A": 1},
        },
    }
    assert body_of("batch-deployment", said) == captured


def test_a_model_deployment_without_settings_sends_the_default_of_each() -> None:
    least = {
        "name": "blue",
        "endpoint_name": "heart",
        "model": "azureml:m:1",
        "compute": "azureml:c",
    }
    sent = body_of("batch-deployment", {**least, "type": "model"})["properties"]
    assert (sent["miniBatchSize"], sent["maxConcurrencyPerInstance"]) == (10, 1)
    assert (sent["outputAction"], sent["errorThreshold"]) == ("AppendRow", -1)
    assert sent["retrySettings"] == {"maxRetries": 3, "timeout": "PT30S"}


def test_a_pipeline_deployment_is_sent_as_the_sdk_sends_it() -> None:
    component = {"assetId": f"{WS}/components/my-pipe/versions/1", "referenceType": "Id"}
    settings = {"default_compute": "cpu", "continue_on_step_failure": False}
    captured = {
        "properties": {
            "deploymentConfiguration": {
                "deploymentConfigurationType": "PipelineComponent",
                "componentId": component,
                "settings": settings,
            },
            "errorThreshold": -1,
            "maxConcurrencyPerInstance": 1,
            "miniBatchSize": 10,
            "outputFileName": "predictions.csv",
        },
    }
    said = {"name": "words", "endpoint_name": "texts", "type": "pipeline"}
    sent = body_of(
        "batch-deployment", {**said, "component": "azureml:my-pipe:1", "settings": settings}
    )
    assert sent == captured


def test_an_mlflow_model_and_an_environment_are_sent_as_the_sdk_sends_them() -> None:
    path = "azureml://jobs/train/outputs/artifacts/paths/model/"
    sent = body_of("model", {"name": "m", "type": "mlflow_model", "path": path})
    assert sent["properties"]["modelType"] == "mlflow_model"
    assert sent["properties"]["modelUri"] == path
    conda = {"name": "e", "dependencies": ["python=3.11"]}
    sent = body_of("environment", {"name": "e", "image": "ubuntu:22.04", "conda_file": conda})
    assert sent["properties"]["image"] == "ubuntu:22.04"
    assert sent["properties"]["condaFile"] == "name: e\ndependencies:\n- python=3.11\n"


# Responses as the REST reference and the SDK's own tests have them.
def test_a_cluster_comes_back_respelt_and_means_the_same() -> None:
    said = compute(
        size="Standard_DS3_v2", tier="low_priority", tags={}, idle_time_before_scale_down=120
    )
    came = {
        "location": "eastus2",
        "identity": None,
        "tags": None,
        "properties": {
            "computeType": "AmlCompute",
            "computeLocation": "eastus2",
            "provisioningState": "Succeeded",
            "provisioningErrors": None,
            "disableLocalAuth": True,
            "properties": {
                "vmSize": "STANDARD_DS3_V2",
                "vmPriority": "lowpriority",
                "scaleSettings": {
                    "maxNodeCount": 2,
                    "minNodeCount": 0,
                    "nodeIdleTimeBeforeScaleDown": "P0Y0M0DT0H2M0S",
                },
                "subnet": {},
                "remoteLoginPortPublicAccess": "NotSpecified",
                "nodeStateCounts": {"idleNodeCount": 0},
            },
        },
    }
    had = decode(came, said.form, SCOPE)
    wanted = complete(said.values, said.form)
    assert differences(said.form.fields, wanted, had, SCOPE) == []
    assert had["idle_time_before_scale_down",] == 120
    assert ("ssh_public_access_enabled",) not in had


def test_a_secret_that_comes_back_after_all_is_not_taken_in() -> None:
    account = {"adminUserName": "azureuser", "adminUserPassword": "s3cr3t!"}
    came = {"properties": {"properties": {"userAccountCredentials": account}}}
    assert "s3cr3t!" not in str(decode(came, compute().form, SCOPE))


def test_a_deployment_comes_back_flattened_and_means_the_same() -> None:
    nested = deployment(type="model", settings={"mini_batch_size": 5})
    flat = deployment(mini_batch_size=5)
    came = {
        "properties": {
            "model": {"assetId": f"{WS}/models/heart/versions/1", "referenceType": "Id"},
            "compute": WS.upper().replace("/SUBSCRIPTIONS/", "/subscriptions/")
            + "/computes/CPU-CLUSTER",
            "outputAction": "appendRow",
            "outputFileName": "predictions.csv",
            "errorThreshold": -1,
            "loggingLevel": "info",
            "miniBatchSize": 5.0,
            "maxConcurrencyPerInstance": 1,
            "retrySettings": {"maxRetries": 3, "timeout": "PT30.0S"},
            "resources": {"instanceCount": 1, "properties": {}},
        }
    }
    for said in (nested, flat):
        had = decode(came, said.form, SCOPE)
        wanted = complete(said.values, said.form)
        assert differences(said.form.fields, wanted, had, SCOPE) == []


def test_a_truth_value_in_a_mapping_is_not_the_number_one() -> None:
    fields = KINDS["model"].forms[-1].fields
    pickled: Values = {("flavors",): {"sklearn": {"pickled": True}}}
    numbered: Values = {("flavors",): {"sklearn": {"pickled": 1}}}
    assert differences(fields, pickled, pickled, SCOPE) == []
    assert [change.at for change in differences(fields, pickled, numbered, SCOPE)] == [("flavors",)]


def test_an_endpoint_with_keys_of_the_services_own_means_the_same() -> None:
    said = endpoint(properties={"mine": 1})
    own = {"mine": "1", "azureml.onlineendpointid": "x"}
    came = {"properties": {"authMode": "aadToken", "properties": own}}
    had = decode(came, said.form, SCOPE)
    assert differences(said.form.fields, complete(said.values, said.form), had, SCOPE) == []


def test_a_pipeline_is_shown_in_its_own_form_and_a_model_with_settings() -> None:
    kind = KINDS["batch-deployment"]
    pipeline = {"deploymentConfigurationType": "PipelineComponent"}
    body = {"properties": {"deploymentConfiguration": pipeline}}
    assert form_of_body(kind, body, SCOPE).name == "pipeline"
    assert form_of_body(kind, {"properties": {}}, SCOPE).name == "model"


@pytest.mark.parametrize(
    ("data", "form"),
    [
        ({}, "flat"),
        ({"type": "model"}, "model"),
        ({"type": "MODEL"}, "model"),
        ({"type": "Pipeline"}, "pipeline"),
        ({"type": 1}, "flat"),
    ],
)
def test_the_form_of_a_deployment_follows_from_its_type(data: dict[str, Data], form: str) -> None:
    assert KINDS["batch-deployment"].form_of(data).name == form


def test_an_alias_counts_only_where_its_main_object_is_absent() -> None:
    form = form_of("batch-deployment", "model")
    dropped = {"settings": {"mini_batch_size": 1}, "error_threshold": 5}
    assert ("settings", "error_threshold") not in form.written(dropped)
    assert form.written({"error_threshold": 5})["settings", "error_threshold"] == 5
    counted = {"settings": {"instance_count": 3}}
    assert form.written(counted)["resources", "instance_count"] == 3


def test_what_the_service_fills_in_is_not_taken_from_a_file() -> None:
    form = KINDS["compute"].forms[0]
    assert form.written({"provisioning_state": "Failed", "size": "s"}) == {("size",): "s"}


def laid_over(live: Mapping[str, Data], values: Values, form: Form) -> dict[str, Data]:
    """The body that says `values` of what is live."""
    return overlay(live, encode_fields(values, form, SCOPE), overwritten_pointers(values, form))


def test_a_summary_has_no_output_file() -> None:
    said = deployment(output_action="summary_only")
    assert ("output_file_name",) not in complete(said.values, said.form)
    live = encode(complete(deployment().values, said.form), said.form, SCOPE)
    assert "outputFileName" in live["properties"]
    merged = laid_over(live, complete(said.values, said.form), said.form)
    assert "outputFileName" not in merged["properties"]


def test_a_fresh_body_has_what_every_new_resource_has_and_an_overlay_what_is_there() -> None:
    form = compute().form
    live = {"properties": {"disableLocalAuth": True, "properties": {"osType": "Windows"}}}
    values = complete(compute().values, form)
    over = laid_over(live, values, form)["properties"]
    assert (over["disableLocalAuth"], over["properties"]["osType"]) == (True, "Windows")
    renewed = overlay(live, encode(values, form, SCOPE), overwritten_pointers(values, form))
    assert renewed["properties"]["properties"]["osType"] == "Linux"


def test_a_body_says_nothing_of_local_accounts_that_no_file_says() -> None:
    account = {"admin_username": "me", "ssh_key_value": "ssh-rsa AAAA"}
    for cluster in (compute(), compute(ssh_settings=account)):
        body = encode(complete(cluster.values, cluster.form), cluster.form, SCOPE)
        assert "disableLocalAuth" not in body["properties"]


def test_what_only_the_service_writes_is_neither_compared_nor_kept() -> None:
    kind, form = KINDS["batch-endpoint"], KINDS["batch-endpoint"].forms[-1]
    mine = {"properties": {"properties": {"mine": "1"}}}
    own = {"AzureAsyncOperationUri": "https://x", "azureml.onlineendpointid": "/y"}
    told = {"properties": {"properties": {"mine": "1", **own}, "description": None}}
    assert fingerprint(mine, kind, SCOPE) == fingerprint(told, kind, SCOPE)
    assert overlay(told, {}, overwritten_pointers({}, form) + kind.arm.service_fields) == mine


def test_an_overlay_leaves_the_services_own_out() -> None:
    live = {
        "id": "/x",
        "name": "cpu-cluster",
        "systemData": {},
        "etag": "1",
        "kind": "kept",
        "properties": {"provisioningState": "Succeeded", "createdOn": "2026"},
    }
    assert laid_over(live, {}, compute().form) == {"kind": "kept", "properties": {}}


def test_a_fingerprint_is_the_same_for_every_spelling() -> None:
    one = {"location": "eastus2", "properties": {"properties": {"vmSize": "STANDARD_DS3_V2"}}}
    other = {"location": "East US 2", "properties": {"properties": {"vmSize": "Standard_DS3_v2"}}}
    kind = KINDS["compute"]
    assert fingerprint(one, kind, SCOPE) == fingerprint(other, kind, SCOPE)
    assert fingerprint(one, kind, SCOPE) != fingerprint({}, kind, SCOPE)


def test_the_state_is_in_lower_case_and_empty_where_there_is_none() -> None:
    assert state({"properties": {"provisioningState": "Succeeded"}}) == "succeeded"
    assert state({}) == ""


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("https://azuremlschemas.azureedge.net/latest/amlCompute.schema.json ", "compute"),
        ("http://azureml/sdk-2-0/BatchDeployment.json", "batch-deployment"),
        ("https://x/pipelineComponentBatchDeployment.schema.json", "batch-deployment"),
        ("BATCHENDPOINT", "batch-endpoint"),
        ("http://azureml/sdk-2-0/OnlineDeployment.json", "online-deployment"),
    ],
)
def test_the_kind_is_the_file_part_of_the_schema(url: str, kind: str) -> None:
    assert kind_of_schema(url) is KINDS[kind]


def test_a_schema_of_another_kind_is_told_by_its_name_and_no_file_is_none() -> None:
    url = "https://x/kubernetesOnlineEndpoint.schema.json"
    assert kind_of_schema(url) == "kubernetesOnlineEndpoint"
    assert kind_of_schema("https://x/") is None


def test_a_name_that_is_no_schema_of_azure_ml_says_nothing() -> None:
    assert by_schema({"$schema": "https://x/latest/amlCompte.schema.json"}) is None
    assert by_schema({"$schema": 5}) is None
    assert by_schema({"$schema": "https://x/zzzData.schema.json"}) == "zzzData"
    assert by_schema({"$schema": "https://x/workspace.schema.json"}) == "workspace"


def test_the_schema_of_every_sort_of_compute_leaves_it_to_the_type() -> None:
    url = "https://azuremlschemas.azureedge.net/latest/compute.schema.json"
    assert by_schema({"$schema": url, "type": "amlcompute"}) is KINDS["compute"]
    assert by_schema({"$schema": url, "type": "computeInstance"}) is KINDS["compute-instance"]
    assert by_schema({"$schema": url, "type": "Kubernetes"}) == "kubernetes"
    own = url.replace("compute.s", "amlCompute.s")
    assert by_schema({"$schema": own, "type": "computeinstance"}) is KINDS["compute"]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ({"type": "AmlCompute"}, "compute"),
        ({"name": "c", "size": "Standard_D4s_v5", "max_instances": 2}, "compute"),
        ({"endpoint_name": "e"}, "batch-deployment"),
        ({"type": "mlflow_model"}, "model"),
        ({"image": "ubuntu"}, "environment"),
        ({"build": {"path": "."}, "name": "e"}, "environment"),
        ({"auth_mode": "aad_token"}, "batch-endpoint"),
        ({"type": "batch", "auth_mode": "AADToken", "traffic": {}}, "batch-endpoint"),
        ({"defaults": {"deployment_name": "d"}}, "batch-endpoint"),
        ({"name": "e", "auth_mode": "key"}, "online-endpoint"),
        ({"name": "e", "auth_mode": "aad_token", "traffic": {"blue": 100}}, "online-endpoint"),
        ({"endpoint_name": "e", "instance_type": "Standard_DS3_v2"}, "online-deployment"),
    ],
)
def test_a_document_without_a_schema_speaks_for_one_kind(data: dict[str, Data], kind: str) -> None:
    assert infer(data) is KINDS[kind]


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"name": "x"},
        {"dependencies": [], "image": "x"},
        {"name": "web", "image": "nginx", "ports": [80]},
        {"name": "ci", "build": {"steps": []}},
        {"name": "app", "min_instances": 1},
        {"name": "e", "auth_mode": "key", "compute": "azureml:aks"},
        {"endpoint_name": "e", "type": "kubernetes"},
        {"endpoint_name": "e", "type": "kubernetes", "instance_type": "defaultinstancetype"},
        {"defaults": {"run": {"shell": "bash"}}},
    ],
)
def test_a_document_that_could_be_anything_is_no_guess(data: dict[str, Data]) -> None:
    assert infer(data) is None


def test_code_is_a_kind_without_documents() -> None:
    assert CODE.documents == ()
    assert not differences(CODE.forms[0].fields, {("hash",): "a"}, {("hash",): "a"}, SCOPE)


def test_every_builder_of_the_tests_has_an_address() -> None:
    made = (compute(), endpoint(), deployment(), model(), environment())
    assert [str(one.address) for one in made] == [
        "compute/cpu-cluster",
        "batch-endpoint/heart-batch",
        "batch-deployment/heart-batch/blue",
        "model/heart:1",
        "environment/torch:1",
    ]


def test_what_is_at_endpoints_is_what_has_a_parent_or_is_one() -> None:
    names = {name for kind in ALL.values() if kind.parent for name in (kind.name, kind.parent)}
    assert set(AT_ENDPOINTS) == names
